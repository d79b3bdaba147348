/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank to every other, from point to point. Pairwise: in step k each rank sends to the rank k above and
 * receives from the rank k below, one step after the other. Linear: all receives are posted, all sends begun
 * in the same order of distance, then all are waited for.
 */
#include "patterns/room.h"
#include "workload.h"

enum { ORDER, BYTES, OPTIONS };
enum { PAIRWISE, LINEAR };
enum { TAG = 1 };

static const char *const orders[] = {"pairwise", "linear", NULL};

static const struct workload_option options[OPTIONS] = {
    [ORDER] = {"order", "pairwise: one partner after the other; linear: all at once", orders, 0, 1, PAIRWISE},
    [BYTES] = {"bytes", "of each message", NULL, 0, 1 << 30, 16384},
};

static void exchange_pairwise(struct comm *comm, int64_t bytes) {
    for (int k = 1; k < comm->size; k++) {
        int source = (comm->rank + comm->size - k) % comm->size;
        int request = comm_irecv(comm, source, TAG, COMM_BYTE, bytes, bytes);
        comm_send(comm, (comm->rank + k) % comm->size, TAG, COMM_BYTE, bytes);
        comm_wait(comm, request);
    }
}

static void exchange_linear(struct comm *comm, int64_t bytes, int *requests) {
    int posted = 0;
    for (int k = 1; k < comm->size; k++) {
        int source = (comm->rank + comm->size - k) % comm->size;
        requests[posted++] = comm_irecv(comm, source, TAG, COMM_BYTE, bytes, bytes);
    }
    for (int k = 1; k < comm->size; k++)
        requests[posted++] = comm_isend(comm, (comm->rank + k) % comm->size, TAG, COMM_BYTE, bytes);
    comm_waitall(comm, requests, posted);
}

static void alltoall_run(struct comm *comm, const struct problem *problem) {
    int *requests = room(2 * (size_t)comm->size, sizeof *requests);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++) {
        if (problem->option[ORDER] == PAIRWISE)
            exchange_pairwise(comm, problem->option[BYTES]);
        else
            exchange_linear(comm, problem->option[BYTES], requests);
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
    free(requests);
}

static int alltoall_iterations(const struct problem *problem) {
    (void)problem;
    return 20;
}

static void alltoall_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

static int alltoall_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    (void)problem, (void)ranks, (void)why, (void)why_bytes;
    return 1;
}

const struct workload workload_alltoall = {
    .name = "alltoall",
    .title = "every rank to every other, from point to point",
    .pattern = "all to all, one partner after the other or all at once",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = alltoall_iterations,
    .grid = alltoall_grid,
    .accepts = alltoall_accepts,
    .run = alltoall_run,
};
