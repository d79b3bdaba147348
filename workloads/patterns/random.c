/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank sends to a number of other ranks, drawn once from a seed, in every iteration the same. Receives
 * are posted in order of their sender, sends begun in order of their drawing, then all are waited for in this
 * order.
 */
#include "pattern.h"
#include "patterns/room.h"
#include "workload.h"

enum { PEERS, LEAST, MOST, SEED, OPTIONS };
enum { TAG = 1, DRAW_PEER = 1, DRAW_SIZE = 2 };

static const struct workload_option options[OPTIONS] = {
    [PEERS] = {"peers", "ranks that each rank sends to", NULL, 1, 1 << 20, 4},
    [LEAST] = {"least", "bytes of the smallest messages; sizes between are equally likely", NULL, 0, 1 << 30,
               1024},
    [MOST] = {"most", "bytes of the largest messages", NULL, 0, 1 << 30, 65536},
    [SEED] = {"seed", "of the drawing", NULL, 0, INT64_C(1) << 40, 1},
};

static int64_t bytes_of(const struct problem *problem, int from, int to) {
    uint64_t range = (uint64_t)(problem->option[MOST] - problem->option[LEAST]) + 1;
    uint64_t drawn = pattern_key((uint64_t)problem->option[SEED], (uint64_t)from, DRAW_SIZE, (uint64_t)to);
    return problem->option[LEAST] + (int64_t)(drawn % range);
}

/* The first `peers` distinct ones of a rank's drawings that are not itself. */
static void draw_peers(const struct problem *problem, int rank, int size, int *peers) {
    uint64_t draws = 0;
    for (int found = 0; found < problem->option[PEERS];) {
        int drawn = (int)(pattern_key((uint64_t)problem->option[SEED], (uint64_t)rank, DRAW_PEER, draws++) %
                          (uint64_t)size);
        int is_new = drawn != rank;
        for (int k = 0; k < found; k++)
            is_new &= peers[k] != drawn;
        if (is_new)
            peers[found++] = drawn;
    }
}

static void random_run(struct comm *comm, const struct problem *problem) {
    int count = (int)problem->option[PEERS], sources = 0;
    int *peers = room((size_t)count, sizeof *peers), *theirs = room((size_t)count, sizeof *theirs);
    int *source = room((size_t)comm->size, sizeof *source);
    for (int rank = 0; rank < comm->size; rank++) {
        draw_peers(problem, rank, comm->size, theirs);
        for (int k = 0; k < count; k++)
            if (theirs[k] == comm->rank)
                source[sources++] = rank;
    }
    draw_peers(problem, comm->rank, comm->size, peers);
    int *requests = room((size_t)count + (size_t)sources, sizeof *requests);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++) {
        int posted = 0;
        for (int k = 0; k < sources; k++) {
            int64_t bytes = bytes_of(problem, source[k], comm->rank);
            requests[posted++] = comm_irecv(comm, source[k], TAG, COMM_BYTE, bytes, bytes);
        }
        for (int k = 0; k < count; k++)
            requests[posted++] =
                comm_isend(comm, peers[k], TAG, COMM_BYTE, bytes_of(problem, comm->rank, peers[k]));
        comm_waitall(comm, requests, posted);
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
    free(requests);
    free(source);
    free(theirs);
    free(peers);
}

static int random_iterations(const struct problem *problem) {
    (void)problem;
    return 100;
}

static void random_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

static int random_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    if (problem->option[PEERS] >= ranks) {
        snprintf(why, why_bytes, "on %d ranks none has `%d` others to send to", ranks,
                 (int)problem->option[PEERS]);
        return 0;
    }
    if (problem->option[LEAST] > problem->option[MOST]) {
        snprintf(why, why_bytes, "the smallest messages, of `%d` bytes, are larger than the largest",
                 (int)problem->option[LEAST]);
        return 0;
    }
    return 1;
}

const struct workload workload_random = {
    .name = "random",
    .title = "each rank to some others, drawn from a seed",
    .pattern = "without order: as many others for each, in sizes between two bounds",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = random_iterations,
    .grid = random_grid,
    .accepts = random_accepts,
    .run = random_run,
};
