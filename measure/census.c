/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank runs where, seen from inside; which library this is, and what it says of its eager limits. */
#include "measure.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* One line of a file, without its end; empty if there is none. */
static void first_line(const char *path, char *line, int room) {
    line[0] = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    if (!fgets(line, room, file))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    fclose(file);
}

/* The cores this process may use, as the kernel writes them: `0-3,8`. */
static void allowed_cores(char *text, int room) {
    snprintf(text, (size_t)room, "?");
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        return;
    char line[4096];
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "Cpus_allowed_list:", 18)) {
            char *list = line + 18 + strspn(line + 18, " \t");
            list[strcspn(list, "\n")] = 0;
            snprintf(text, (size_t)room, "%s", list);
        }
    fclose(file);
}

static int speaks_of_eager(const char *name) {
    for (const char *c = name; *c; c++)
        if (!strncasecmp(c, "eager", 5))
            return 1;
    return 0;
}

static void integer_variable(int index, const char *name) {
    MPI_T_cvar_handle handle;
    int count;
    union {
        int small;
        unsigned natural;
        unsigned long large;
        unsigned long long larger;
        char rest[1024];
    } value = {0};
    char text[256];
    int length = sizeof text, name_length = 0, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &type, &names, text, &length, &bind, &scope);
    if (bind != MPI_T_BIND_NO_OBJECT)
        return;
    if (type != MPI_INT && type != MPI_UNSIGNED && type != MPI_UNSIGNED_LONG &&
        type != MPI_UNSIGNED_LONG_LONG)
        return;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    if (count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS) {
        const long long number = type == MPI_INT        ? value.small
                                 : type == MPI_UNSIGNED ? (long long)value.natural
                                                        : (long long)value.larger;
        measure_line("variable %s %lld", name, number);
    }
    MPI_T_cvar_handle_free(&handle);
}

static void eager_variables(void) {
    int provided, variables = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    MPI_T_cvar_get_num(&variables);
    for (int i = 0; i < variables; i++) {
        char name[256];
        int length = sizeof name, none = 0, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum names;
        if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &names, NULL, &none, &bind, &scope) ==
                MPI_SUCCESS &&
            speaks_of_eager(name))
            integer_variable(i, name);
    }
    /* Not ended here: MPICH 4.3 would forget variables that its collectives read later. */
}

void measure_census(void) {
    int rank, world, length;
    char host[256] = "", boot[64], cores[2048], load[128];
    const char *lab =
        getenv("RANKWISE_LAB_CORES"); /* cores of an emulated node; the kernel knows the machine's only */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    gethostname(host, sizeof host - 1);
    first_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    first_line("/proc/loadavg", load, sizeof load);
    allowed_cores(cores, sizeof cores);
    if (rank == 0) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        MPI_Get_library_version(version, &length);
        for (char *c = version; *c; c++)
            if (isspace((unsigned char)*c))
                *c = ' ';
        measure_line("world %d", world);
        measure_line("library %.900s", version);
        eager_variables();
    }
    measure_line("rank %d host=%s boot=%s pid=%ld cpu=%d allowed=%s load=%.5s clock_ns=%.1f lab_cores=%.200s",
                 rank, host, boot, (long)getpid(), sched_getcpu(), cores, load, measure_clock_cost() * 1e9,
                 lab ? lab : "-");
}
