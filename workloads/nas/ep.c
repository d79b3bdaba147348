/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EP: pairs of Gaussian random numbers, counted in square annuli. Every process makes its share of the
 * batches of 2^16 pairs; at the end the two sums and the ten counts are added up.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007; sizes and order are those of the MPI
 * version 3.3.
 */
#include <stdio.h>

#include "nas.h"

enum { PAIRS_OF_BATCH_LOG = 16, ANNULI = 10 };

static int pairs_log(const struct problem *problem) {
    static const struct {
        char letter;
        int log;
    } classes[] = {{'S', 24}, {'W', 25}, {'A', 28}, {'B', 30}, {'C', 32}, {'D', 36}};
    int i = 0;
    while (classes[i].letter != problem->problem_class)
        i++;
    return classes[i].log;
}

static int batches(const struct problem *problem) {
    return 1 << (pairs_log(problem) - PAIRS_OF_BATCH_LOG);
}

static void ep_run(struct comm *comm, const struct problem *problem) {
    int all = batches(problem), own = all / comm->size + (comm->rank < all % comm->size);
    comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0); /* whether timers are on */
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    /* Its operations are published as random numbers made: two of a pair. */
    for (int i = 0; i < problem->iterations; i++)
        comm_compute(comm, 2.0 * (1 << PAIRS_OF_BATCH_LOG) * own);
    comm_allreduce(comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_SUM);
    comm_allreduce(comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_SUM);
    comm_allreduce(comm, COMM_WORLD, COMM_DOUBLE, ANNULI, COMM_SUM);
    comm_stop_timer(comm);
    comm_reduce_time(comm, COMM_EVERYWHERE);
}

static int ep_iterations(const struct problem *problem) {
    (void)problem;
    return 1;
}

static void ep_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

static int ep_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    int most = batches(problem);
    if (ranks > most)
        snprintf(why, why_bytes, "ep of class %c runs on 1 to %d ranks, not on `%d`", problem->problem_class,
                 most, ranks);
    return ranks <= most;
}

const struct workload workload_ep = {
    .name = "ep",
    .title = "NAS Parallel Benchmarks EP: Gaussian random numbers",
    .pattern = "three small reductions at the end",
    .classes = "SWABCD",
    .iterations = ep_iterations,
    .grid = ep_grid,
    .accepts = ep_accepts,
    .run = ep_run,
};
