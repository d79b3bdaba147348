/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LU: a coupled system in three dimensions by symmetric successive over-relaxation.
 *
 * The grid is cut into columns of nz planes by a two-dimensional grid of processes, ranks along x. Each
 * iteration solves a lower and an upper triangular system plane by plane: a plane of a process waits for
 * those of its northern and western neighbours (southern and eastern on the way back), so that waves of small
 * messages run through the grid of processes. The right-hand side needs faces two points deep from the four
 * neighbours.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; sizes, tags and order are those of the MPI version 3.3.
 */
#include "nas.h"

enum { UNKNOWNS = 5, FROM_SOUTH = 1, FROM_NORTH = 2, FROM_EAST = 3, FROM_WEST = 4, NOBODY = -1 };

/* Operations for a point of the parts of an iteration, of the 1984.77 that are published for the whole:
 * estimated from the algorithm. */
static const double points_operations = 1984.77, jacobian_operations = 455, solve_operations = 290,
                    update_operations = 15;

static const struct lu_class {
    char letter;
    int points; /* in each dimension */
    int iterations;
} classes[] = {{'S', 12, 50},   {'W', 33, 300},  {'A', 64, 250},
               {'B', 102, 250}, {'C', 162, 250}, {'D', 408, 300}};

static const struct lu_class *find_class(const struct problem *problem) {
    const struct lu_class *found = classes;
    while (found->letter != problem->problem_class)
        found++;
    return found;
}

struct lu {
    struct comm *comm;
    int points, iterations;
    int64_t nx, ny; /* points of this process */
    int first_x, first_y;
    int north, south, east, west; /* neighbours, or NOBODY */
    int64_t inner_x, inner_y;     /* without those on the boundary of the grid */
    double operations; /* published, of this process in an iteration, for each of `points_operations` */
};

static void lu_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[1] = 1 << (log2_floor(ranks) / 2);
    grid[0] = ranks / grid[1];
    grid[2] = 1;
}

/* Points of part `index`, the longer parts first, and the number of those before it. */
static int part(int points, int parts, int index, int *before) {
    int longer = points % parts;
    *before = index * (points / parts) + (index < longer ? index : longer);
    return points / parts + (index < longer);
}

static struct lu set_up(struct comm *comm, const struct problem *problem) {
    int grid[3];
    lu_grid(problem, comm->size, grid);
    int row = comm->rank % grid[0], column = comm->rank / grid[0];
    struct lu lu = {.comm = comm, .points = find_class(problem)->points, .iterations = problem->iterations};
    lu.nx = part(lu.points, grid[0], row, &lu.first_x);
    lu.ny = part(lu.points, grid[1], column, &lu.first_y);
    lu.north = row > 0 ? comm->rank - 1 : NOBODY;
    lu.south = row < grid[0] - 1 ? comm->rank + 1 : NOBODY;
    lu.west = column > 0 ? comm->rank - grid[0] : NOBODY;
    lu.east = column < grid[1] - 1 ? comm->rank + grid[0] : NOBODY;
    lu.inner_x = lu.nx - (lu.north == NOBODY) - (lu.south == NOBODY);
    lu.inner_y = lu.ny - (lu.west == NOBODY) - (lu.east == NOBODY);
    double n = lu.points;
    double published = 1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010;
    lu.operations = published / points_operations * (double)(lu.nx * lu.ny) / (n * n);
    return lu;
}

static void compute(struct lu *lu, double operations) {
    comm_compute(lu->comm, lu->operations * operations);
}

/* A message travels from one neighbour to the opposite one; each of them may be missing. */
static void pass_on(struct lu *lu, int from, int to, int tag, int64_t count) {
    int request = 0;
    if (from != NOBODY)
        request = comm_irecv(lu->comm, from, tag, COMM_DOUBLE, count, count);
    if (to != NOBODY)
        comm_send(lu->comm, to, tag, COMM_DOUBLE, count);
    if (from != NOBODY)
        comm_wait(lu->comm, request);
}

/* Two layers of points to and from the neighbours along x or y. */
static void exchange_along_x(struct lu *lu) {
    int64_t count = 2 * UNKNOWNS * lu->ny * lu->points;
    pass_on(lu, lu->north, lu->south, FROM_NORTH, count);
    pass_on(lu, lu->south, lu->north, FROM_SOUTH, count);
}

static void exchange_along_y(struct lu *lu) {
    int64_t count = 2 * UNKNOWNS * lu->nx * lu->points;
    pass_on(lu, lu->west, lu->east, FROM_WEST, count);
    pass_on(lu, lu->east, lu->west, FROM_EAST, count);
}

static void receive(struct lu *lu, int from, int tag, int64_t points) {
    if (from != NOBODY)
        comm_recv(lu->comm, from, tag, COMM_DOUBLE, UNKNOWNS * points, UNKNOWNS * points);
}

static void send(struct lu *lu, int to, int tag, int64_t points) {
    if (to != NOBODY)
        comm_send(lu->comm, to, tag, COMM_DOUBLE, UNKNOWNS * points);
}

static void lower_plane(struct lu *lu, double share) {
    compute(lu, jacobian_operations * share);
    receive(lu, lu->north, FROM_NORTH, lu->inner_y);
    receive(lu, lu->west, FROM_WEST, lu->inner_x);
    compute(lu, solve_operations * share);
    send(lu, lu->south, FROM_NORTH, lu->inner_y);
    send(lu, lu->east, FROM_WEST, lu->inner_x);
}

static void upper_plane(struct lu *lu, double share) {
    compute(lu, jacobian_operations * share);
    receive(lu, lu->south, FROM_SOUTH, lu->inner_y);
    receive(lu, lu->east, FROM_EAST, lu->inner_x);
    compute(lu, solve_operations * share);
    send(lu, lu->north, FROM_SOUTH, lu->inner_y);
    send(lu, lu->west, FROM_EAST, lu->inner_x);
}

static void right_hand_side(struct lu *lu) {
    double operations = points_operations - 2 * (jacobian_operations + solve_operations) - update_operations;
    exchange_along_x(lu);
    compute(lu, operations / 3);
    exchange_along_y(lu);
    compute(lu, 2 * operations / 3); /* along y and z */
}

static void norm(struct lu *lu) {
    comm_allreduce(lu->comm, COMM_WORLD, COMM_DOUBLE, UNKNOWNS, COMM_SUM);
}

static void relax(struct lu *lu, int iterations, int timed) {
    int planes = lu->points - 2;
    right_hand_side(lu);
    norm(lu);
    comm_barrier(lu->comm, COMM_WORLD);
    if (timed)
        comm_start_timer(lu->comm);
    for (int i = 1; i <= iterations; i++) {
        int is_last = i == lu->iterations; /* norms are due at the end of all */
        for (int plane = 0; plane < planes; plane++)
            lower_plane(lu, 1.0 / planes);
        for (int plane = 0; plane < planes; plane++)
            upper_plane(lu, 1.0 / planes);
        compute(lu, update_operations);
        if (is_last)
            norm(lu);
        right_hand_side(lu);
        if (is_last)
            norm(lu);
    }
    if (timed)
        comm_stop_timer(lu->comm);
    comm_reduce_time(lu->comm, COMM_EVERYWHERE);
}

/* Where a range of the whole grid, its first and last point, lies in points `before` + 1 .. `before` + `own`.
 */
struct range {
    int64_t first, last; /* own points, from 1; first > last: none */
    int begins, ends;    /* the range's first, last point is here */
};

static struct range own_range(int before, int64_t own, int first, int last) {
    struct range range = {.first = first > before ? first - before : 1,
                          .last = last < before + own ? last - before : own};
    range.begins = first > before && first <= before + own;
    range.ends = last > before && last <= before + own;
    return range;
}

/* The surface integral over the faces of a box: each process needs the first points of the next one. */
static void integrate(struct lu *lu) {
    int n = lu->points;
    struct range x = own_range(lu->first_x, lu->nx, 2, n - 1);
    struct range y = own_range(lu->first_y, lu->ny, 2, n - 2);
    int wants_south = !x.ends && x.last == lu->nx, gives_north = !x.begins && x.first == 1;
    int wants_east = !y.ends && y.last == lu->ny, gives_west = !y.begins && y.first == 1;
    struct {
        int wanted, given;
        int from, to, tag;
        int64_t count;
        int times;
    } const steps[] = {
        {wants_east, gives_west, lu->east, lu->west, FROM_EAST, 2 * lu->nx, 1},
        {wants_south, gives_north, lu->south, lu->north, FROM_SOUTH, 2 * (lu->ny + 2), 1},
        {wants_south, gives_north, lu->south, lu->north, FROM_SOUTH, n, y.begins + y.ends},
        {wants_east, gives_west, lu->east, lu->west, FROM_EAST, n, x.begins + x.ends},
    };
    for (int i = 0; i < 4; i++) {
        for (int time = 0; time < steps[i].times; time++) {
            if (steps[i].wanted) {
                int request = comm_irecv(lu->comm, steps[i].from, steps[i].tag, COMM_DOUBLE, steps[i].count,
                                         steps[i].count);
                comm_wait(lu->comm, request);
            }
            if (steps[i].given)
                comm_send(lu->comm, steps[i].to, steps[i].tag, COMM_DOUBLE, steps[i].count);
        }
        if (i > 0)
            comm_allreduce(lu->comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_SUM);
    }
}

static void lu_run(struct comm *comm, const struct problem *problem) {
    /* What to print, how often norms are due, iterations; step, factor; tolerances; extents, timers. */
    for (int parameter = 0; parameter < 3; parameter++)
        comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0);
    for (int parameter = 0; parameter < 2; parameter++)
        comm_bcast(comm, COMM_WORLD, COMM_DOUBLE, 1, 0);
    comm_bcast(comm, COMM_WORLD, COMM_DOUBLE, UNKNOWNS, 0);
    for (int parameter = 0; parameter < 4; parameter++)
        comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0);

    struct lu lu = set_up(comm, problem);
    exchange_along_x(&lu); /* for the forcing term */
    exchange_along_y(&lu);
    relax(&lu, 1, 0);
    relax(&lu, problem->iterations, 1);
    norm(&lu); /* the error */
    integrate(&lu);
}

static int lu_iterations(const struct problem *problem) {
    return find_class(problem)->iterations;
}

static int lu_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    enum { LEAST_POINTS = 3 }; /* of a process in a dimension, the limit of version 3.4 */
    int parts = 1 << log2_floor(find_class(problem)->points / LEAST_POINTS);
    return nas_power_of_two("lu", problem, ranks, parts * parts, why, why_bytes);
}

const struct workload workload_lu = {
    .name = "lu",
    .title = "NAS Parallel Benchmarks LU: symmetric successive over-relaxation",
    .pattern = "waves of small messages through a grid of ranks; faces",
    .classes = "SWABCD",
    .iterations = lu_iterations,
    .grid = lu_grid,
    .accepts = lu_accepts,
    .run = lu_run,
};
