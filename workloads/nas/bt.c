/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BT: the compressible Navier-Stokes equations, by block tridiagonal systems along the three dimensions in
 * turn, 5 x 5 blocks.
 *
 * Cells are dealt out by the multi-partition scheme. A sweep goes through the p layers of cells: what the
 * elimination leaves at a cell's end, a block and a vector for each line, goes to the process of the next
 * cell; the solution comes back, a vector for each line. Buffers are as long as those of the largest cell.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; sizes, tags and order are those of the MPI version 3.3.
 */
#include "multipartition.h"
#include "nas.h"

enum { DIMENSIONS = MULTIPARTITION_DIMENSIONS, UNKNOWNS = MULTIPARTITION_UNKNOWNS };

/* Operations for a point of the parts of an iteration, of the 3478.8 that are published for the whole:
 * estimated from the algorithm. */
static const double point_operations = 3478.8, eliminate_operations = 950, substitute_operations = 50,
                    add_operations = 5;

static const struct bt_class {
    char letter;
    int points; /* in each dimension */
    int iterations;
} classes[] = {{'S', 12, 60},   {'W', 24, 200},  {'A', 64, 200},
               {'B', 102, 200}, {'C', 162, 200}, {'D', 408, 250}};

static const struct bt_class *find_class(const struct problem *problem) {
    const struct bt_class *found = classes;
    while (found->letter != problem->problem_class)
        found++;
    return found;
}

struct bt {
    struct multipartition parts;
    int64_t lines;     /* of a buffer */
    double operations; /* published, of an iteration on all points, for each of `point_operations` */
};

static void compute(struct bt *bt, double share, double operations) {
    comm_compute(bt->parts.comm, bt->operations * share * operations);
}

/* A cell's messages in a sweep along d have its own tag: a base and its place in the other dimensions. */
static int tag_of(const struct bt *bt, int d, const struct cell *cell, int is_forward) {
    static const int forward[DIMENSIONS] = {3000, 5000, 6000}, back[DIMENSIONS] = {2000, 4000, 7000};
    int first = d == 0 ? 1 : 0, second = d == 2 ? 1 : 2;
    return (is_forward ? forward[d] : back[d]) + cell->place[first] + cell->place[second] * bt->parts.cells;
}

/* Receive from the process of the cell before, when what was sent last is on its way. */
static void receive(struct bt *bt, int from, int tag, int64_t count, int sent) {
    struct comm *comm = bt->parts.comm;
    int received = comm_irecv(comm, from, tag, COMM_DOUBLE, count, count);
    comm_wait(comm, sent);
    comm_wait(comm, received);
}

static void sweep(struct bt *bt, int d) {
    struct multipartition *parts = &bt->parts;
    int64_t eliminated = bt->lines * (UNKNOWNS * UNKNOWNS + UNKNOWNS), solved = bt->lines * UNKNOWNS;
    int last = parts->cells - 1, sent = 0;
    for (int stage = 0; stage <= last; stage++) {
        const struct cell *cell = &parts->cell[parts->layer[d][stage]];
        int tag = tag_of(bt, d, cell, 1);
        if (stage > 0)
            receive(bt, parts->predecessor[d], tag, eliminated, sent);
        compute(bt, cell->share, eliminate_operations);
        if (stage < last)
            sent = comm_isend(parts->comm, parts->successor[d], tag, COMM_DOUBLE, eliminated);
    }
    for (int stage = last; stage >= 0; stage--) {
        const struct cell *cell = &parts->cell[parts->layer[d][stage]];
        int tag = tag_of(bt, d, cell, 0);
        if (stage < last)
            receive(bt, parts->successor[d], tag, solved, sent);
        compute(bt, cell->share, substitute_operations);
        if (stage > 0)
            sent = comm_isend(parts->comm, parts->predecessor[d], tag, COMM_DOUBLE, solved);
    }
}

static void right_hand_side(struct bt *bt) {
    multipartition_exchange_faces(&bt->parts);
    compute(bt, bt->parts.share,
            point_operations - DIMENSIONS * (eliminate_operations + substitute_operations) - add_operations);
}

static void iterate(struct bt *bt) {
    right_hand_side(bt);
    for (int d = 0; d < DIMENSIONS; d++)
        sweep(bt, d);
    compute(bt, bt->parts.share, add_operations);
}

static void bt_run(struct comm *comm, const struct problem *problem) {
    int group = comm_split(comm, 0, comm->rank), n = find_class(problem)->points;
    struct bt bt;
    multipartition_set_up(&bt.parts, comm, group, n);

    /* Iterations, the step, three extents, how often to write and read, whether timers are on. */
    comm_bcast(comm, group, COMM_INT, 1, 0);
    comm_bcast(comm, group, COMM_DOUBLE, 1, 0);
    comm_bcast(comm, group, COMM_INT, 3, 0);
    for (int parameter = 0; parameter < 3; parameter++)
        comm_bcast(comm, group, COMM_INT, 1, 0);
    int64_t longest = n / bt.parts.cells + 1;
    bt.lines = longest * longest;
    double points = n;
    bt.operations =
        (3478.8 * points * points * points - 17655.7 * points * points + 28023.7 * points) / point_operations;
    iterate(&bt);
    comm_barrier(comm, group);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++)
        iterate(&bt);
    comm_stop_timer(comm);
    comm_allreduce(comm, group, COMM_DOUBLE, UNKNOWNS, COMM_SUM); /* the error */
    right_hand_side(&bt);
    comm_allreduce(comm, group, COMM_DOUBLE, UNKNOWNS, COMM_SUM); /* the residual */
    comm_reduce_time(comm, 0);
    comm_barrier(comm, COMM_WORLD);
}

static int bt_iterations(const struct problem *problem) {
    return find_class(problem)->iterations;
}

static void bt_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    multipartition_grid(ranks, grid);
}

static int bt_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    return nas_square("bt", problem, ranks, multipartition_most_ranks(find_class(problem)->points), why,
                      why_bytes);
}

const struct workload workload_bt = {
    .name = "bt",
    .title = "NAS Parallel Benchmarks BT: block tridiagonal systems in three dimensions",
    .pattern = "sweeps along rows, columns and diagonals of a square of ranks; faces",
    .classes = "SWABCD",
    .iterations = bt_iterations,
    .grid = bt_grid,
    .accepts = bt_accepts,
    .run = bt_run,
};
