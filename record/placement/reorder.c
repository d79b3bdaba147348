/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Renumbers MPI_COMM_WORLD: behind the shim, in place of a recorder. When MPI has started, a communicator of
 * all processes in the order of the placement is made, and every function that is given MPI_COMM_WORLD gets
 * that one instead. All that is made from it (groups, topologies, windows, files, other communicators)
 * follows by itself, and so do Fortran and Python, whose bindings end in the same functions.
 *
 * Only a few things keep the launcher's order: variables in the environment, the process sets of sessions,
 * and functions that formats/mpi_calls.txt does not list. Spawned processes have a world of their own, which
 * is left alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "placement/binding_line.h"
#include "placement/rank_order.h"
#include "process/abi.h"

/* What stands for MPI_COMM_WORLD as soon as `renumbered` is set; never freed, because MPI_Finalize may still
 * ask. */
static MPI_Comm other_world;
static int renumbered;
static const char *placement_path;

static inline int is_world(intptr_t comm) {
    return (MPI_Comm)comm == MPI_COMM_WORLD && renumbered;
}

#define RW_OTHER(comm) (is_world(comm) ? (intptr_t)other_world : (comm))
#define NEXT(entry, call, parameters) ((intptr_t (*)(RW_NEUTRAL_TYPES_##parameters))rw_next[entry][call])
#define FORWARD(name, call, base, large, parameters)                                                         \
    static intptr_t mpi_##name(RW_NEUTRAL_PARAMETERS_##parameters) {                                         \
        return NEXT(RW_MPI, call, parameters)(RW_TRANSLATED_ARGUMENTS_##name);                               \
    }                                                                                                        \
    static intptr_t pmpi_##name(RW_NEUTRAL_PARAMETERS_##parameters) {                                        \
        return NEXT(RW_PMPI, call, parameters)(RW_TRANSLATED_ARGUMENTS_##name);                              \
    }
RW_CALLS_on_communicator(FORWARD)

/* One line in all, from the process that is most likely to be seen. */
static void complain(int rank, const char *why) {
    if (rank == 0)
        dprintf(STDERR_FILENO, "rankwise: ranks are not renumbered: %s\n", why);
}

/* Everybody's host and PUs; NULL without memory, which all find out together. */
static struct rw_process_place *gather_places(int size, const char *trouble) {
    static char pus[1 << 15];
    struct rw_process_place own = {.host = "", .pus = 0, .placement = trouble ? 0 : rw_hash(placement_path)};
    gethostname(own.host, sizeof own.host - 1);
    size_t length = rw_write_pus(pus, sizeof pus - 1);
    pus[length] = '\0';
    own.pus = rw_hash(pus);
    struct rw_process_place *all = malloc((size_t)size * sizeof *all);
    if (!all)
        return NULL;
    RW_PMPI_CALL(Allgather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm)
    (&own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    return all;
}

static void renumber(void) {
    MPI_Comm parent = MPI_COMM_NULL;
    int rank = 0, size = 0;
    if (RW_HAS(Comm_get_parent))
        RW_PMPI_CALL(Comm_get_parent, MPI_Comm *)(&parent);
    if (parent != MPI_COMM_NULL || renumbered)
        return;
    RW_PMPI_CALL(Comm_rank, MPI_Comm, int *)(MPI_COMM_WORLD, &rank);
    RW_PMPI_CALL(Comm_size, MPI_Comm, int *)(MPI_COMM_WORLD, &size);
    struct rw_placement placement;
    char reason[256] = "";
    const char *trouble = rw_read_placement(placement_path, &placement);
    struct rw_process_place *all = gather_places(size, trouble);
    for (int at = 0; all && at < size && !trouble; at++)
        if (!all[at].placement)
            trouble = "its file cannot be read on every host";
    if (!trouble && placement.ranks != size) {
        snprintf(reason, sizeof reason, "the program has %d ranks, the placement %d", size, placement.ranks);
        trouble = reason;
    }
    int wanted = !trouble && all ? rw_new_rank(&placement, all, rank, reason) : -1;
    if (wanted < 0) {
        complain(rank, trouble ? trouble : reason);
    } else {
        RW_PMPI_CALL(Comm_split, MPI_Comm, int, int, MPI_Comm *)(MPI_COMM_WORLD, 0, wanted, &other_world);
        RW_PMPI_CALL(Comm_set_name, MPI_Comm, const char *)(other_world, "MPI_COMM_WORLD");
        renumbered = 1;
        rw_bind_to(placement.pus[wanted]);
        const char *directory = getenv("RANKWISE_BINDING");
        char text[16];
        snprintf(text, sizeof text, "%d", wanted);
        if (directory)
            rw_tell_binding(directory, text, 2);
    }
    free(all);
    rw_free_plan(&placement);
}

#define START(entry, prefix)                                                                                 \
    static intptr_t prefix##_start(intptr_t argc, intptr_t argv) {                                           \
        intptr_t result = NEXT(entry, RW_CALL_Init, 2)(argc, argv);                                          \
        if ((int)result == MPI_SUCCESS)                                                                      \
            renumber();                                                                                      \
        return result;                                                                                       \
    }                                                                                                        \
    static intptr_t prefix##_start_thread(intptr_t argc, intptr_t argv, intptr_t required,                   \
                                          intptr_t provided) {                                               \
        intptr_t result = NEXT(entry, RW_CALL_Init_thread, 4)(argc, argv, required, provided);               \
        if ((int)result == MPI_SUCCESS)                                                                      \
            renumber();                                                                                      \
        return result;                                                                                       \
    }                                                                                                        \
    /* What is predefined may be on the library's own world only. */                                         \
    static intptr_t prefix##_get_attribute(intptr_t comm, intptr_t key, intptr_t value, intptr_t flag) {     \
        intptr_t result = NEXT(entry, RW_CALL_Comm_get_attr, 4)(RW_OTHER(comm), key, value, flag);           \
        if (is_world(comm) && (int)result == MPI_SUCCESS && !*(int *)flag)                                   \
            result = NEXT(entry, RW_CALL_Comm_get_attr, 4)(comm, key, value, flag);                          \
        return result;                                                                                       \
    }                                                                                                        \
    /* Errors that belong to no communicator are the library's own world's. */                               \
    static intptr_t prefix##_set_errors(intptr_t comm, intptr_t handler) {                                   \
        if (is_world(comm))                                                                                  \
            NEXT(entry, RW_CALL_Comm_set_errhandler, 2)(comm, handler);                                      \
        return NEXT(entry, RW_CALL_Comm_set_errhandler, 2)(RW_OTHER(comm), handler);                         \
    }
START(RW_MPI, mpi)
START(RW_PMPI, pmpi)

static const struct {
    unsigned call;
    rw_function wrapper[RW_ENTRIES]; /* NULL: the library's own */
} special[] = {
    {RW_CALL_Init, {(rw_function)mpi_start, (rw_function)pmpi_start}},
    {RW_CALL_Init_thread, {(rw_function)mpi_start_thread, (rw_function)pmpi_start_thread}},
    {RW_CALL_Comm_get_attr, {(rw_function)mpi_get_attribute, (rw_function)pmpi_get_attribute}},
    {RW_CALL_Attr_get, {(rw_function)mpi_get_attribute, (rw_function)pmpi_get_attribute}},
    {RW_CALL_Comm_set_errhandler, {(rw_function)mpi_set_errors, (rw_function)pmpi_set_errors}},
    /* The job as a whole; a handle's own number. */
    {RW_CALL_Abort, {NULL, NULL}},
    {RW_CALL_Comm_toint, {NULL, NULL}},
};

__attribute__((visibility("default"))) const char *
rankwise_record_attach(uint32_t version, const struct rw_library *library,
                       rw_function slots[RW_ENTRIES][RW_CALL_COUNT]) {
    if (version != RW_ATTACH_VERSION)
        return "the library beside it is of another version";
    const char *trouble = rw_abi_open(library->handle);
    if (trouble)
        return trouble;
    placement_path = library->directory;
    memcpy(rw_next, library->next, sizeof rw_next);
    rw_function chosen[RW_ENTRIES][RW_CALL_COUNT];
    memcpy(chosen, rw_next, sizeof chosen);
#define CHOOSE(name, call, base, large, parameters)                                                          \
    chosen[RW_MPI][call] = (rw_function)mpi_##name;                                                          \
    chosen[RW_PMPI][call] = (rw_function)pmpi_##name;
    RW_CALLS_on_communicator(CHOOSE)
    for (unsigned at = 0; at < sizeof special / sizeof *special; at++)
        for (int entry = 0; entry < RW_ENTRIES; entry++)
            chosen[entry][special[at].call] =
                special[at].wrapper[entry] ? special[at].wrapper[entry] : rw_next[entry][special[at].call];
    for (int entry = 0; entry < RW_ENTRIES; entry++)
        for (unsigned call = 0; call < RW_CALL_COUNT; call++)
            if (rw_next[entry][call])
                __atomic_store_n(&slots[entry][call], chosen[entry][call], __ATOMIC_RELEASE);
    return NULL;
}
