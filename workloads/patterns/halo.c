/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Halo exchange: blocks of a grid in one to three dimensions, each with its neighbours' outermost points.
 *
 * All receives are posted, then all sends, then all are waited for in this order. A tag says in which
 * direction a message travels. A rank that would be its own neighbour copies without MPI.
 */
#include <stdio.h>

#include "patterns/process_grid.h"
#include "workload.h"

enum { POINTS, SIZE, DEPTH, BYTES, PERIODIC, X, Y, Z, OPTIONS };
enum { MOST_NEIGHBOURS = 26, VALUE_BYTES = 8 };

static const char *const stencils[] = {"3", "5", "9", "7", "27", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

static const struct shape {
    int points, dimensions, diagonals;
} shapes[] = {{3, 1, 0}, {5, 2, 0}, {9, 2, 1}, {7, 3, 0}, {27, 3, 1}};

static const struct workload_option options[OPTIONS] = {
    [POINTS] = {"points", "of the stencil: 3 in one dimension, 5 and 9 in two, 7 and 27 in three", stencils,
                0, 4, 3},
    [SIZE] = {"size", "points of a rank's block in each dimension", NULL, 1, 100000, 64},
    [DEPTH] = {"depth", "layers of points that are exchanged", NULL, 1, 64, 1},
    [BYTES] = {"bytes", "of each message; 0: 8 for each point that is exchanged", NULL, 0, 1 << 30, 0},
    [PERIODIC] = {"periodic", "whether the last block's neighbour is the first", no_yes, 0, 1, 1},
    [X] = {"x", "ranks in the first dimension; 0: as even as can be", NULL, 0, 1 << 24, 0},
    [Y] = {"y", "ranks in the second dimension", NULL, 0, 1 << 24, 0},
    [Z] = {"z", "ranks in the third dimension", NULL, 0, 1 << 24, 0},
};

static const struct shape *shape_of(const struct problem *problem) {
    return &shapes[problem->option[POINTS]];
}

static int is_given(const struct problem *problem) {
    return problem->option[X] || problem->option[Y] || problem->option[Z];
}

static void halo_grid(const struct problem *problem, int ranks, int grid[3]) {
    if (!is_given(problem)) {
        grid_cut(ranks, shape_of(problem)->dimensions, grid);
        return;
    }
    for (int d = 0; d < GRID_DIMENSIONS; d++)
        grid[d] = problem->option[X + d] ? (int)problem->option[X + d] : 1;
}

static int halo_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    int grid[3];
    halo_grid(problem, ranks, grid);
    if ((int64_t)grid[0] * grid[1] * grid[2] != ranks) {
        snprintf(why, why_bytes, "a grid of %d x %d x %d processes is not one of `%d` ranks", grid[0],
                 grid[1], grid[2], ranks);
        return 0;
    }
    for (int d = shape_of(problem)->dimensions; d < GRID_DIMENSIONS; d++) {
        if (grid[d] > 1) {
            snprintf(why, why_bytes, "a stencil of `%d` points has %d dimensions", shape_of(problem)->points,
                     shape_of(problem)->dimensions);
            return 0;
        }
    }
    if (problem->option[DEPTH] > problem->option[SIZE]) {
        snprintf(why, why_bytes, "a block of `%d` points has no %d layers", (int)problem->option[SIZE],
                 (int)problem->option[DEPTH]);
        return 0;
    }
    return 1;
}

/* One message of an iteration: where it goes, where the one that travels the same way comes from. */
struct exchange {
    int to, from, tag;
    int64_t bytes;
};

/* @return how many */
static int find_exchanges(const struct comm *comm, const struct problem *problem,
                          struct exchange exchanges[MOST_NEIGHBOURS]) {
    const struct shape *shape = shape_of(problem);
    int extent[3], found = 0, tag = 0;
    halo_grid(problem, comm->size, extent);
    struct process_grid grid = grid_of(extent, comm->rank, (int)problem->option[PERIODIC]);
    int reach[3];
    for (int d = 0; d < GRID_DIMENSIONS; d++)
        reach[d] = d < shape->dimensions;
    int offset[3];
    for (offset[0] = -reach[0]; offset[0] <= reach[0]; offset[0]++) {
        for (offset[1] = -reach[1]; offset[1] <= reach[1]; offset[1]++) {
            for (offset[2] = -reach[2]; offset[2] <= reach[2]; offset[2]++) {
                int across = 0, back[3];
                int64_t points = 1;
                for (int d = 0; d < GRID_DIMENSIONS; d++) {
                    across += offset[d] != 0;
                    back[d] = -offset[d];
                    if (d < shape->dimensions)
                        points *= problem->option[offset[d] ? DEPTH : SIZE];
                }
                if (across == 0 || (across > 1 && !shape->diagonals))
                    continue;
                struct exchange *exchange = &exchanges[found];
                exchange->to = grid_neighbour(&grid, offset);
                exchange->from = grid_neighbour(&grid, back);
                exchange->tag = tag++;
                exchange->bytes = problem->option[BYTES] ? problem->option[BYTES] : points * VALUE_BYTES;
                if (exchange->to != comm->rank && (exchange->to >= 0 || exchange->from >= 0))
                    found++;
            }
        }
    }
    return found;
}

static void halo_run(struct comm *comm, const struct problem *problem) {
    struct exchange exchanges[MOST_NEIGHBOURS];
    int count = find_exchanges(comm, problem, exchanges);
    double points = 1;
    for (int d = 0; d < shape_of(problem)->dimensions; d++)
        points *= (double)problem->option[SIZE];
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++) {
        int requests[2 * MOST_NEIGHBOURS], posted = 0;
        for (int k = 0; k < count; k++)
            if (exchanges[k].from >= 0)
                requests[posted++] = comm_irecv(comm, exchanges[k].from, exchanges[k].tag, COMM_BYTE,
                                                exchanges[k].bytes, exchanges[k].bytes);
        for (int k = 0; k < count; k++)
            if (exchanges[k].to >= 0)
                requests[posted++] =
                    comm_isend(comm, exchanges[k].to, exchanges[k].tag, COMM_BYTE, exchanges[k].bytes);
        comm_waitall(comm, requests, posted);
        /* A multiplication for each point of the stencil, and their sum. */
        comm_compute(comm, points * (2 * shape_of(problem)->points - 1));
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
}

static int halo_iterations(const struct problem *problem) {
    (void)problem;
    return 100;
}

const struct workload workload_halo = {
    .name = "halo",
    .title = "halo exchange of a stencil in one to three dimensions",
    .pattern = "all neighbours in the process grid at once",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = halo_iterations,
    .grid = halo_grid,
    .accepts = halo_accepts,
    .run = halo_run,
};
