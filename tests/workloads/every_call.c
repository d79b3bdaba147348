/* SPDX-License-Identifier: BSD-3-Clause */
/* A workload of all calls that workloads may make, in groups of even and odd ranks, too. */
#include <stdio.h>
#include <string.h>

#include "workload.h"

static void messages(struct comm *c) {
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size, requests[40];
    for (int i = 0; i < 20; i++) /* more requests than there is room for at first */
        requests[i] = comm_irecv_any(c, left, i, COMM_BYTE, 100, i);
    for (int i = 0; i < 20; i++)
        requests[20 + i] = comm_isend(c, right, i, COMM_BYTE, i);
    comm_waitall(c, requests, 40);
    int received = comm_irecv(c, left, 7, COMM_COMPLEX, 9, 9),
        sent = comm_isend(c, right, 7, COMM_COMPLEX, 9);
    comm_wait(c, sent);
    comm_wait(c, received);
    if (c->rank % 2 == 0)
        comm_send(c, c->rank ^ 1, 8, COMM_INT, 1);
    else
        comm_recv(c, c->rank ^ 1, 8, COMM_INT, 5, 1);
}

static void collectives(struct comm *c, int group, int rank, int size) {
    int64_t to[64], from[64];
    for (int i = 0; i < size; i++) {
        to[i] = (rank + 2 * i) % 5;
        from[i] = (i + 2 * rank) % 5;
    }
    comm_barrier(c, group);
    comm_bcast(c, group, COMM_BYTE, 1001, size - 1);
    comm_reduce(c, group, COMM_INT, 3, COMM_SUM, size - 1);
    comm_allreduce(c, group, COMM_DOUBLE, 5, COMM_MIN);
    comm_allgather(c, group, COMM_BYTE, 77);
    comm_alltoall(c, group, COMM_COMPLEX, 3);
    comm_alltoallv(c, group, size, COMM_INT, to, from);
}

static void run(struct comm *c, const struct problem *problem) {
    int half = comm_split(c, c->rank % 2, -c->rank); /* ranks in falling order */
    int copy = comm_dup(c, COMM_WORLD);
    comm_start_timer(c);
    for (int i = 0; i < problem->iterations; i++) {
        comm_messages_on(c, i % 2 ? copy : COMM_WORLD);
        messages(c);
        collectives(c, COMM_WORLD, c->rank, c->size);
        collectives(c, half, (c->size - 1 - c->rank) / 2, c->size / 2);
        comm_kernel(c, COMM_DGEMM, 10, 20, 30);
    }
    comm_stop_timer(c);
    comm_reduce_time(c, COMM_EVERYWHERE);
    comm_reduce_time(c, 0);
}

static int iterations(const struct problem *problem) {
    (void)problem;
    return 3;
}

static void grid(const struct problem *problem, int ranks, int extents[3]) {
    memset(extents, 0, 3 * sizeof *extents);
    extents[0] = ranks + (int)problem->option[0];
}

static int accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    (void)problem;
    if (ranks % 2 != 0)
        snprintf(why, why_bytes, "this runs on an even number of ranks");
    return ranks % 2 == 0;
}

static const char *const colours[] = {"red", "green", NULL};
static const struct workload_option options[] = {
    {.name = "number", .help = "a number", .least = -5, .most = 5, .usual = 2},
    {.name = "colour", .help = "a choice", .choices = colours, .least = 0, .most = 1, .usual = 1},
};

const struct workload workload_every = {
    .name = "every",
    .title = "every call",
    .pattern = "all of them",
    .classes = "",
    .options = options,
    .option_count = 2,
    .iterations = iterations,
    .grid = grid,
    .accepts = accepts,
    .run = run,
};
