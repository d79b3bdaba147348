/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SP: the compressible Navier-Stokes equations, by scalar pentadiagonal systems along the three dimensions in
 * turn.
 *
 * Cells are dealt out by the multi-partition scheme, as of BT. A sweep goes through the p layers of cells:
 * two rows of what the elimination leaves, 22 numbers for each line of points inside the grid, go to the
 * process of the next cell while that one prepares its matrices; two rows of the solution, 10 numbers a line,
 * come back.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; sizes, tags and order are those of the MPI version 3.3.
 */
#include "multipartition.h"
#include "nas.h"

enum {
    DIMENSIONS = MULTIPARTITION_DIMENSIONS,
    UNKNOWNS = MULTIPARTITION_UNKNOWNS,
    ELIMINATED = 22,
    SOLVED = 10,
    TAG = 0
};

/* Operations for a point of the parts of an iteration, of the 881.174 that are published for the whole:
 * estimated from the algorithm. */
static const double point_operations = 881.174, matrix_operations = 30, eliminate_operations = 58,
                    substitute_operations = 20, invert_operations = 15, transform_operations = 29,
                    add_operations = 5;

static const struct sp_class {
    char letter;
    int points; /* in each dimension */
    int iterations;
} classes[] = {{'S', 12, 100},  {'W', 36, 400},  {'A', 64, 400},
               {'B', 102, 400}, {'C', 162, 400}, {'D', 408, 500}};

static const struct sp_class *find_class(const struct problem *problem) {
    const struct sp_class *found = classes;
    while (found->letter != problem->problem_class)
        found++;
    return found;
}

struct sp {
    struct multipartition parts;
    double operations; /* published, of an iteration on all points, for each of `point_operations` */
};

static void compute(struct sp *sp, double share, double operations) {
    comm_compute(sp->parts.comm, sp->operations * share * operations);
}

/* Lines of a cell along d that are not on the boundary of the grid. */
static int64_t lines(const struct sp *sp, const struct cell *cell, int d) {
    int64_t product = 1;
    for (int other = 0; other < DIMENSIONS; other++)
        if (other != d)
            product *=
                cell->size[other] - (cell->place[other] == 0) - (cell->place[other] == sp->parts.cells - 1);
    return product;
}

static void wait_for_both(struct sp *sp, int received, int sent) {
    const int requests[] = {received, sent};
    comm_waitall(sp->parts.comm, requests, 2);
}

static void eliminate(struct sp *sp, int d) {
    struct multipartition *parts = &sp->parts;
    int last = parts->cells - 1, sent = 0;
    for (int stage = 0; stage <= last; stage++) {
        const struct cell *cell = &parts->cell[parts->layer[d][stage]];
        int64_t count = ELIMINATED * lines(sp, cell, d);
        int received = 0;
        if (stage > 0)
            received = comm_irecv(parts->comm, parts->predecessor[d], TAG, COMM_DOUBLE, count, count);
        compute(sp, cell->share, matrix_operations);
        if (stage > 0)
            wait_for_both(sp, received, sent);
        compute(sp, cell->share, eliminate_operations);
        if (stage < last)
            sent = comm_isend(parts->comm, parts->successor[d], TAG, COMM_DOUBLE, count);
    }
}

static void substitute(struct sp *sp, int d) {
    struct multipartition *parts = &sp->parts;
    int last = parts->cells - 1, sent = 0;
    for (int stage = last; stage >= 0; stage--) {
        const struct cell *cell = &parts->cell[parts->layer[d][stage]];
        int64_t count = SOLVED * lines(sp, cell, d);
        if (stage < last) {
            int received = comm_irecv(parts->comm, parts->successor[d], TAG, COMM_DOUBLE, count, count);
            /* Meanwhile the cell before is done with. */
            compute(sp, parts->cell[parts->layer[d][stage + 1]].share, invert_operations);
            wait_for_both(sp, received, sent);
        }
        compute(sp, cell->share, substitute_operations);
        if (stage > 0)
            sent = comm_isend(parts->comm, parts->predecessor[d], TAG, COMM_DOUBLE, count);
        else
            compute(sp, cell->share, invert_operations);
    }
}

static void right_hand_side(struct sp *sp) {
    double sweeps = matrix_operations + eliminate_operations + substitute_operations + invert_operations;
    multipartition_exchange_faces(&sp->parts);
    compute(sp, sp->parts.share,
            point_operations - DIMENSIONS * sweeps - transform_operations - add_operations);
}

static void iterate(struct sp *sp) {
    right_hand_side(sp);
    compute(sp, sp->parts.share, transform_operations);
    for (int d = 0; d < DIMENSIONS; d++) {
        eliminate(sp, d);
        substitute(sp, d);
    }
    compute(sp, sp->parts.share, add_operations);
}

static void sp_run(struct comm *comm, const struct problem *problem) {
    int group = comm_split(comm, 0, comm->rank), n = find_class(problem)->points;
    struct sp sp;
    multipartition_set_up(&sp.parts, comm, group, n);

    /* Iterations, the step, three extents, whether timers are on. */
    comm_bcast(comm, group, COMM_INT, 1, 0);
    comm_bcast(comm, group, COMM_DOUBLE, 1, 0);
    comm_bcast(comm, group, COMM_INT, 3, 0);
    comm_bcast(comm, group, COMM_INT, 1, 0);
    double points = n;
    sp.operations =
        (881.174 * points * points * points - 4683.91 * points * points + 11484.5 * points - 19272.4) /
        point_operations;
    iterate(&sp);
    comm_barrier(comm, group);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++)
        iterate(&sp);
    comm_stop_timer(comm);
    comm_allreduce(comm, group, COMM_DOUBLE, UNKNOWNS, COMM_SUM); /* the error */
    right_hand_side(&sp);
    comm_allreduce(comm, group, COMM_DOUBLE, UNKNOWNS, COMM_SUM); /* the residual */
    comm_reduce_time(comm, 0);
    comm_barrier(comm, COMM_WORLD);
}

static int sp_iterations(const struct problem *problem) {
    return find_class(problem)->iterations;
}

static void sp_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    multipartition_grid(ranks, grid);
}

static int sp_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    return nas_square("sp", problem, ranks, multipartition_most_ranks(find_class(problem)->points), why,
                      why_bytes);
}

const struct workload workload_sp = {
    .name = "sp",
    .title = "NAS Parallel Benchmarks SP: scalar pentadiagonal systems in three dimensions",
    .pattern = "sweeps along rows, columns and diagonals of a square of ranks; faces",
    .classes = "SWABCD",
    .iterations = sp_iterations,
    .grid = sp_grid,
    .accepts = sp_accepts,
    .run = sp_run,
};
