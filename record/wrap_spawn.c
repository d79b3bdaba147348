/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_spawn. What it starts is recorded as well: Hydra gives it the variables that `rankwise record` has given to
 * the ranks, Open MPI starts it with those of its daemons only, so there they go with an info key.
 */
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "trace.h"
#include "wrap.h"

#if defined(OPEN_MPI)
#define ENVIRONMENT_BYTES 16384

extern char **environ;

/* Open MPI 5, which has sessions, takes the older key too, and complains of it. */
static const char *key(void) { return RW_HAS(Session_init) ? "PMIX_ENVAR" : "env"; }

static int is_ours(const char *variable) {
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "RANKWISE_", 9) == 0;
}

/* NAME=value lines, the program's own first; 0 if they do not fit. */
static int put_environment(MPI_Info info, char text[ENVIRONMENT_BYTES]) {
    int given = 0;
    size_t used = 0;
    text[0] = 0;
    if (info != MPI_INFO_NULL)
        RW_PMPI_CALL(Info_get, MPI_Info, const char *, int, char *, int *)
    (info, key(), ENVIRONMENT_BYTES - 1, text, &given);
    if (given)
        used = strlen(text);
    for (char **variable = environ; *variable; variable++) {
        size_t length = strlen(*variable);
        if (!is_ours(*variable))
            continue;
        if (used + length + 2 > ENVIRONMENT_BYTES)
            return 0;
        if (used)
            text[used++] = '\n';
        memcpy(text + used, *variable, length + 1);
        used += length;
    }
    return used > 0;
}

/* The program's info and our variables, to be freed; MPI_INFO_NULL if nothing is to be added. */
static MPI_Info with_environment(MPI_Info info) {
    char *text = malloc(ENVIRONMENT_BYTES);
    MPI_Info more = MPI_INFO_NULL;
    if (text && put_environment(info, text)) {
        int result = info == MPI_INFO_NULL ? RW_PMPI_CALL(Info_create, MPI_Info *)(&more)
                                           : RW_PMPI_CALL(Info_dup, MPI_Info, MPI_Info *)(info, &more);
        if (result == MPI_SUCCESS)
            RW_PMPI_CALL(Info_set, MPI_Info, const char *, const char *)(more, key(), text);
        else
            more = MPI_INFO_NULL;
    }
    free(text);
    return more;
}

/* Infos to use instead of `count` of the program's; NULL: use those. Only what the root gives is looked at. */
static MPI_Info *infos_for(int count, const MPI_Info *infos, int root, MPI_Comm comm) {
    int rank = -1;
    RW_PMPI_CALL(Comm_rank, MPI_Comm, int *)(comm, &rank);
    MPI_Info *more = rank == root && count > 0 ? malloc((size_t)count * sizeof *more) : NULL;
    for (int i = 0; more && i < count; i++) {
        more[i] = with_environment(infos[i]);
        if (more[i] == MPI_INFO_NULL && infos[i] != MPI_INFO_NULL)
            RW_PMPI_CALL(Info_dup, MPI_Info, MPI_Info *)(infos[i], &more[i]);
    }
    return more;
}

static void free_infos(MPI_Info *infos, int count) {
    for (int i = 0; infos && i < count; i++)
        if (infos[i] != MPI_INFO_NULL)
            RW_PMPI_CALL(Info_free, MPI_Info *)(&infos[i]);
    free(infos);
}
#else
static MPI_Info *infos_for(int count, const MPI_Info *infos, int root, MPI_Comm comm) {
    (void)count;
    (void)infos;
    (void)root;
    (void)comm;
    return NULL;
}
static void free_infos(MPI_Info *infos, int count) {
    (void)infos;
    (void)count;
}
#endif

#define INFOS_Comm_spawn 1, &info
#define INFOS_Comm_spawn_multiple count, array_of_info
#define COUNT_Comm_spawn 1
#define COUNT_Comm_spawn_multiple count
#define USE_Comm_spawn info = infos[0]
#define USE_Comm_spawn_multiple array_of_info = infos

#define SPAWN(entry, name)                                                                                            \
    RW_SIGNATURE(entry, name) {                                                                                       \
        RW_BEGIN(entry, name);                                                                                        \
        MPI_Info *const infos = rw_process.ready ? infos_for(INFOS_##name, root, comm) : NULL;                        \
        if (infos)                                                                                                    \
            USE_##name;                                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                                  \
        RW_CALLED(name);                                                                                              \
        free_infos(infos, COUNT_##name);                                                                              \
        if (result == MPI_SUCCESS)                                                                                    \
            rw_register(thread, *intercomm);                                                                          \
        if (RW_UNLIKELY(thread->traced))                                                                              \
            rw_trace_plain(thread, RW_CALL_##name, begin, end);                                                       \
        RW_DONE;                                                                                                      \
        return result;                                                                                                \
    }
SPAWN(mpi, Comm_spawn)
SPAWN(pmpi, Comm_spawn)
SPAWN(mpi, Comm_spawn_multiple)
SPAWN(pmpi, Comm_spawn_multiple)
