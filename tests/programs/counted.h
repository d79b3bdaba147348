/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Open MPI's monitoring component sees below each call that COUNTED makes: counted_write writes it to
 * DIRECTORY/RANK, lines `CALL DESTINATION MESSAGES BYTES`. Link with -rdynamic, run with `--mca
 * pml_monitoring_enable 1 --mca coll ^monitoring`: the component's part for collectives cannot have
 * neighbours beyond the end of a line.
 */
#ifndef COUNTED_H
#define COUNTED_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNTED_CALLS = 128, COUNTED_RANKS = 64 };

static struct {
    const char *name;
    size_t messages[COUNTED_RANKS], bytes[COUNTED_RANKS];
} counted_calls[COUNTED_CALLS];
static int counted_now = -1;

/* The component calls this for every message; defined here it is found before the one in the component's
 * library. */
void mca_common_monitoring_record_pml(int world_rank, size_t bytes, int tag);
void mca_common_monitoring_record_pml(int world_rank, size_t bytes, int tag) {
    (void)tag;
    if (counted_now >= 0) {
        counted_calls[counted_now].messages[world_rank]++;
        counted_calls[counted_now].bytes[world_rank] += bytes;
    }
}

/* Without that part nothing is there that this could note, and Open MPI calls it all the same. */
void mca_common_monitoring_coll_cache_name(MPI_Comm comm);
void mca_common_monitoring_coll_cache_name(MPI_Comm comm) {
    (void)comm;
}

static int counted_number(const char *name) {
    int at = 0;
    while (at < COUNTED_CALLS - 1 && counted_calls[at].name && strcmp(counted_calls[at].name, name))
        at++;
    counted_calls[at].name = name;
    return at;
}

#define COUNTED(call, ...)                                                                                   \
    do {                                                                                                     \
        counted_now = counted_number("MPI_" #call);                                                          \
        MPI_##call(__VA_ARGS__);                                                                             \
        counted_now = -1;                                                                                    \
    } while (0)

/* The same with a nonblocking call, which is counted until it is complete. */
#define COUNTED_I(call, ...)                                                                                 \
    do {                                                                                                     \
        MPI_Request counted_request;                                                                         \
        counted_now = counted_number("MPI_" #call);                                                          \
        MPI_##call(__VA_ARGS__, &counted_request);                                                           \
        MPI_Wait(&counted_request, MPI_STATUS_IGNORE);                                                       \
        counted_now = -1;                                                                                    \
    } while (0)

static void counted_write(const char *directory, int rank) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", directory, rank);
    FILE *file = fopen(path, "w");
    for (int at = 0; file && at < COUNTED_CALLS && counted_calls[at].name; at++)
        for (int peer = 0; peer < COUNTED_RANKS; peer++)
            if (counted_calls[at].messages[peer])
                fprintf(file, "%s %d %zu %zu\n", counted_calls[at].name, peer,
                        counted_calls[at].messages[peer], counted_calls[at].bytes[peer]);
    if (file)
        fclose(file);
}

#endif
