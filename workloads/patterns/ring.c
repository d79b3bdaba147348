/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data-tiling ring of Chai, Gao & Panda, "Understanding the Impact of Multi-Core Architecture in Cluster
 * Computing" (CCGrid 2007), section 5.4: each rank computes on its data, sends them to its right neighbour,
 * receives its left neighbour's, and so on for a number of iterations. Whole, that is done with all data at
 * once. In tiles, all iterations are done with one tile before the next one is begun (their section 5.3: "the
 * data chunks stay in the cache for multiple operations").
 */
#include <stdio.h>

#include "workload.h"

enum { BYTES, TILE, PASSES, OPTIONS };
enum { TAG = 1, VALUE_BYTES = 8 };

static const struct workload_option options[OPTIONS] = {
    [BYTES] = {"bytes", "data of a rank, a multiple of 8", NULL, 8, INT64_C(1) << 40, 64 << 20},
    [TILE] = {"tile", "bytes of a tile, which divide the data, as 262144; 0: all at once", NULL, 0,
              INT64_C(1) << 40, 0},
    [PASSES] = {"passes", "passes over the data in each iteration, two operations a number", NULL, 0, 1000000,
                1},
};

static int64_t tile_of(const struct problem *problem) {
    return problem->option[TILE] ? problem->option[TILE] : problem->option[BYTES];
}

static int ring_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    int64_t tile = tile_of(problem);
    (void)ranks;
    if (tile % VALUE_BYTES == 0 && problem->option[BYTES] % tile == 0)
        return 1;
    snprintf(why, why_bytes, "tiles of `%lld` bytes do not make up %lld bytes in numbers of 8 bytes",
             (long long)tile, (long long)problem->option[BYTES]);
    return 0;
}

static void ring_run(struct comm *comm, const struct problem *problem) {
    int right = (comm->rank + 1) % comm->size, left = (comm->rank + comm->size - 1) % comm->size;
    int64_t values = tile_of(problem) / VALUE_BYTES, tiles = problem->option[BYTES] / tile_of(problem);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int64_t tile = 0; tile < tiles; tile++) {
        for (int i = 0; i < problem->iterations; i++) {
            comm_kernel(comm, COMM_SWEEP, values, problem->option[PASSES], 0);
            int request = comm_irecv(comm, left, TAG, COMM_DOUBLE, values, values);
            comm_send(comm, right, TAG, COMM_DOUBLE, values);
            comm_wait(comm, request);
        }
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
}

static int ring_iterations(const struct problem *problem) {
    (void)problem;
    return 10;
}

static void ring_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

const struct workload workload_ring = {
    .name = "ring",
    .title = "ring of Chai, Gao & Panda (2007): data processed whole or in tiles",
    .pattern = "to the right neighbour, from the left one",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = ring_iterations,
    .grid = ring_grid,
    .accepts = ring_accepts,
    .run = ring_run,
};
