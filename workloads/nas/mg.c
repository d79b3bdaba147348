/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MG: Poisson's equation on a periodic cube, by V cycles of a multigrid method.
 *
 * The finest grid is cut into a grid of processes in three dimensions. After each operator the faces are
 * exchanged with the two neighbours in each dimension in turn, edges and corners travelling along. On coarse
 * grids there are fewer points than processes in a dimension: only every second, fourth, ... process has
 * points and its neighbours are that far away (the others drop out); on the way back to finer grids those
 * that have points hand faces, two layers deep on one side, to those that come in again.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; sizes, tags and order are those of the MPI version 3.3.
 */
#include <stddef.h>

#include "nas.h"

enum { DIMENSIONS = 3, MAX_LEVELS = 12, EXTREMES = 10, DOWN = 0, UP = 1 };

/* Operations for each grid point that an operator writes, as published with the benchmark. */
static const double residual_operations = 15, smooth_operations = 16, restrict_operations = 24,
                    interpolate_operations = 20, norm_operations = 3;

static const struct mg_class {
    char letter;
    int points; /* in each dimension */
    int iterations;
} classes[] = {
    {'S', 32, 4}, {'W', 128, 4}, {'A', 256, 4}, {'B', 256, 20}, {'C', 512, 20}, {'D', 1024, 50},
};

static const struct mg_class *find_class(char letter) {
    const struct mg_class *found = classes;
    while (found->letter != letter)
        found++;
    return found;
}

/* One rank's part of one grid. */
struct level {
    int64_t extent[DIMENSIONS];     /* points of this rank and one layer of neighbours' on each side */
    int neighbour[DIMENSIONS][2];   /* ranks, [DOWN] and [UP] */
    int receives_faces[DIMENSIONS]; /* has no points in this dimension on the next coarser grid, its neighbour
                                       has */
    int sends_faces[DIMENSIONS];    /* the other way round */
    int idle;                       /* no points here */
    double points;
};

struct mg {
    struct comm *comm;
    int finest;     /* level numbers: 1 is the grid of 2 points in each dimension */
    int64_t buffer; /* doubles of the buffers that receives are posted with */
    struct level level[MAX_LEVELS];
};

static void mg_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    int bits = log2_floor(ranks);
    grid[0] = 1 << (bits / 3);
    grid[1] = 1 << ((bits - bits / 3) / 2);
    grid[2] = ranks / (grid[0] * grid[1]);
}

/* Points of the `index`-th of `parts` processes in one dimension. */
static int share(int points, int parts, int index) {
    return (index + 1) * points / parts - index * points / parts;
}

static struct mg set_up(struct comm *comm, const struct problem *problem) {
    const struct mg_class *size = find_class(problem->problem_class);
    int grid[DIMENSIONS], place[DIMENSIONS], stride[DIMENSIONS], distance[DIMENSIONS] = {1, 1, 1};
    mg_grid(problem, comm->size, grid);
    for (int d = 0, step = 1; d < DIMENSIONS; step *= grid[d++]) {
        stride[d] = step;
        place[d] = comm->rank / step % grid[d];
    }
    struct mg mg = {.comm = comm, .finest = log2_floor(size->points)};
    int64_t widest = 2 + size->points / grid[0];
    mg.buffer = 2 * widest * widest;

    for (int k = mg.finest; k >= 1; k--) {
        struct level *level = &mg.level[k], *finer = k < mg.finest ? &mg.level[k + 1] : NULL;
        level->points = 1;
        for (int d = 0; d < DIMENSIONS; d++) {
            int own = share(1 << k, grid[d], place[d]), next = share(1 << k, grid[d], place[d] + distance[d]);
            if (own == 0 || next == 0)
                distance[d] *= 2;
            if (finer) {
                finer->sends_faces[d] = own == 1 && next == 0;
                finer->receives_faces[d] = own == 0 && next == 1;
            }
            level->extent[d] = own + 2;
            level->points *= own;
            int up = (place[d] + distance[d]) % grid[d];
            int down = ((place[d] - distance[d]) % grid[d] + grid[d]) % grid[d];
            level->neighbour[d][UP] = comm->rank + (up - place[d]) * stride[d];
            level->neighbour[d][DOWN] = comm->rank + (down - place[d]) * stride[d];
        }
        level->idle = level->points == 0;
    }
    return mg;
}

static int tag_of(int dimension, int direction) {
    return 100 * ((direction == UP ? 3 : 1) + 10 * (dimension + 1));
}

/* Points of a face across dimension d: with the layers of neighbours' points that dimensions before d filled.
 */
static int64_t face(const struct level *level, int d) {
    const int64_t *n = level->extent;
    return d == 0 ? (n[1] - 2) * (n[2] - 2) : d == 1 ? n[0] * (n[2] - 2) : n[0] * n[1];
}

static int64_t whole_face(const struct level *level, int d) {
    return level->extent[(d + 1) % DIMENSIONS] * level->extent[(d + 2) % DIMENSIONS];
}

/* A message travelling DOWN comes from the neighbour above. */
static int post(struct mg *mg, const struct level *level, int d, int direction, int64_t count) {
    int source = level->neighbour[d][direction == DOWN ? UP : DOWN];
    return comm_irecv(mg->comm, source, tag_of(d, direction), COMM_DOUBLE, mg->buffer, count);
}

static void give(struct mg *mg, const struct level *level, int d, int direction, int64_t count) {
    comm_send(mg->comm, level->neighbour[d][direction], tag_of(d, direction), COMM_DOUBLE, count);
}

static void exchange_faces(struct mg *mg, int k) {
    const struct level *level = &mg->level[k];
    if (level->idle || mg->comm->size == 1)
        return;
    for (int d = 0; d < DIMENSIONS; d++) {
        int64_t count = face(level, d);
        int from_above = post(mg, level, d, DOWN, count), from_below = post(mg, level, d, UP, count);
        give(mg, level, d, UP, count);
        give(mg, level, d, DOWN, count);
        comm_wait(mg->comm, from_above);
        comm_wait(mg->comm, from_below);
    }
}

/* Processes that have no points on grid k - 1 get what they need to go on with grid k. */
static void bring_in(struct mg *mg, int k) {
    const struct level *level = &mg->level[k];
    if (mg->comm->size == 1)
        return;
    for (int d = 0; d < DIMENSIONS; d++) {
        int64_t count = whole_face(level, d);
        if (level->receives_faces[d]) {
            int from_above = post(mg, level, d, DOWN, count), from_below = post(mg, level, d, UP, 2 * count);
            comm_wait(mg->comm, from_above);
            comm_wait(mg->comm, from_below);
        }
        if (level->sends_faces[d]) {
            give(mg, level, d, UP, 2 * count);
            give(mg, level, d, DOWN, count);
        }
    }
}

static void residual(struct mg *mg, int k) {
    comm_compute(mg->comm, residual_operations * mg->level[k].points);
    exchange_faces(mg, k);
}

static void smooth(struct mg *mg, int k) {
    comm_compute(mg->comm, smooth_operations * mg->level[k].points);
    exchange_faces(mg, k);
}

static void restrict_to(struct mg *mg, int k) {
    comm_compute(mg->comm, restrict_operations * mg->level[k].points);
    exchange_faces(mg, k);
}

static void interpolate_to(struct mg *mg, int k) {
    comm_compute(mg->comm, interpolate_operations * mg->level[k - 1].points);
    bring_in(mg, k);
}

static void v_cycle(struct mg *mg) {
    for (int k = mg->finest - 1; k >= 1; k--)
        restrict_to(mg, k);
    smooth(mg, 1);
    for (int k = 2; k <= mg->finest; k++) {
        interpolate_to(mg, k);
        residual(mg, k);
        smooth(mg, k);
    }
}

static void norms(struct mg *mg) {
    comm_compute(mg->comm, norm_operations * mg->level[mg->finest].points);
    comm_allreduce(mg->comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_MAX);
    comm_allreduce(mg->comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_SUM);
}

/* The right-hand side is +1 and -1 at the ten largest and ten smallest random numbers: values and places are
 * found. */
static void right_hand_side(struct mg *mg) {
    comm_barrier(mg->comm, COMM_WORLD);
    for (int i = 0; i < EXTREMES; i++) {
        comm_allreduce(mg->comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_MAX);
        comm_allreduce(mg->comm, COMM_WORLD, COMM_INT, 4, COMM_MAX);
        comm_allreduce(mg->comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_MIN);
        comm_allreduce(mg->comm, COMM_WORLD, COMM_INT, 4, COMM_MAX);
    }
    comm_barrier(mg->comm, COMM_WORLD);
    exchange_faces(mg, mg->finest);
}

static void mg_run(struct comm *comm, const struct problem *problem) {
    comm_barrier(comm, COMM_WORLD);
    /* The number of levels, iterations, three extents; eight switches; whether timers are on. */
    for (int parameter = 0; parameter < 5; parameter++)
        comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0);
    comm_bcast(comm, COMM_WORLD, COMM_INT, 8, 0);
    comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0);

    struct mg mg = set_up(comm, problem);
    right_hand_side(&mg);
    norms(&mg);
    residual(&mg, mg.finest);
    norms(&mg);
    v_cycle(&mg);
    residual(&mg, mg.finest);
    right_hand_side(&mg);
    comm_barrier(comm, COMM_WORLD);

    comm_start_timer(comm);
    residual(&mg, mg.finest);
    norms(&mg);
    for (int i = 0; i < problem->iterations; i++) {
        v_cycle(&mg);
        residual(&mg, mg.finest);
    }
    norms(&mg);
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
}

static int mg_iterations(const struct problem *problem) {
    return find_class(problem->problem_class)->iterations;
}

static int mg_most_ranks(const struct problem *problem) {
    /* One point in each dimension; 131072 is the limit the original states. */
    int64_t points = find_class(problem->problem_class)->points;
    return points * points * points < 131072 ? (int)(points * points * points) : 131072;
}

static int mg_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    return nas_power_of_two("mg", problem, ranks, mg_most_ranks(problem), why, why_bytes);
}

const struct workload workload_mg = {
    .name = "mg",
    .title = "NAS Parallel Benchmarks MG: multigrid V cycles on a periodic cube",
    .pattern = "faces with neighbours in 3 dimensions, on coarse grids 2, 4, ... places away",
    .classes = "SWABCD",
    .iterations = mg_iterations,
    .grid = mg_grid,
    .accepts = mg_accepts,
    .run = mg_run,
};
