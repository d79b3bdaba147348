/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FT: a partial differential equation in three dimensions, solved with forward and inverse fast Fourier
 * transforms.
 *
 * Up to nz ranks the grid is cut into slabs: two dimensions are transformed in place and one all-to-all over
 * all ranks transposes for the third. On more ranks it is cut into pencils, nz x (ranks / nz) of them, and
 * each transform has two all-to-alls, one in the rows and one in the columns of the process grid. Every
 * iteration sums a checksum at rank 0.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; layouts, sizes and order are those of the MPI version 3.3.
 */
#include <math.h>

#include "nas.h"

/* Operations for each grid point beside the transforms, from the published operation count of FT. */
static const double initial_operations = 14.8157, evolve_operations = 5.23518;

static const struct ft_class {
    char letter;
    int nx, ny, nz;
    int iterations;
} classes[] = {
    {'S', 64, 64, 64, 6},     {'W', 128, 128, 32, 6},   {'A', 256, 256, 128, 6},
    {'B', 512, 256, 256, 20}, {'C', 512, 512, 512, 20}, {'D', 2048, 1024, 1024, 25},
};

static const struct ft_class *find_class(char letter) {
    const struct ft_class *found = classes;
    while (found->letter != letter)
        found++;
    return found;
}

struct ft {
    struct comm *comm;
    const struct ft_class *size;
    int rows, columns; /* of the process grid: 1 x 1, 1 x ranks (slabs), nz x ranks / nz (pencils) */
    int row_group, column_group;
    int64_t points; /* of the grid, on this rank */
};

static void ft_grid(const struct problem *problem, int ranks, int grid[3]) {
    int nz = find_class(problem->problem_class)->nz;
    grid[0] = ranks <= nz ? 1 : nz;
    grid[1] = ranks / grid[0];
    grid[2] = 1;
}

static struct ft set_up(struct comm *comm, const struct problem *problem) {
    const struct ft_class *size = find_class(problem->problem_class);
    int grid[3];
    ft_grid(problem, comm->size, grid);
    struct ft ft = {.comm = comm, .size = size, .rows = grid[0], .columns = grid[1]};
    ft.points = (int64_t)size->nx * size->ny / comm->size * size->nz;
    /* The shape of the grid, the layout, the iterations, and whether timers are on. */
    for (int parameter = 0; parameter < 5; parameter++)
        comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0);
    int row = comm->rank / ft.columns, column = comm->rank % ft.columns;
    ft.row_group = comm_split(comm, row, column);
    ft.column_group = comm_split(comm, column, row);
    return ft;
}

static void transform_lines(struct ft *ft, int length) {
    comm_compute(ft->comm, 5.0 * (double)ft->points * log2(length));
}

static void transpose(struct ft *ft, int group, int ranks) {
    comm_alltoall(ft->comm, group, COMM_COMPLEX, ft->points / ranks);
}

static void forward_transform(struct ft *ft) {
    transform_lines(ft, ft->size->nx);
    if (ft->rows > 1)
        transpose(ft, ft->column_group, ft->rows);
    transform_lines(ft, ft->size->ny);
    if (ft->columns > 1)
        transpose(ft, ft->row_group, ft->columns);
    transform_lines(ft, ft->size->nz);
}

static void inverse_transform(struct ft *ft) {
    transform_lines(ft, ft->size->nz);
    if (ft->columns > 1)
        transpose(ft, ft->row_group, ft->columns);
    transform_lines(ft, ft->size->ny);
    if (ft->rows > 1)
        transpose(ft, ft->column_group, ft->rows);
    transform_lines(ft, ft->size->nx);
}

static void start_over(struct ft *ft) {
    comm_compute(ft->comm, initial_operations * (double)ft->points);
    forward_transform(ft);
}

static void ft_run(struct comm *comm, const struct problem *problem) {
    struct ft ft = set_up(comm, problem);
    start_over(&ft);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    start_over(&ft);
    for (int i = 0; i < problem->iterations; i++) {
        comm_compute(comm, evolve_operations * (double)ft.points);
        inverse_transform(&ft);
        comm_reduce(comm, COMM_WORLD, COMM_COMPLEX, 1, COMM_SUM, 0);
    }
    comm_stop_timer(comm);
}

static int ft_iterations(const struct problem *problem) {
    return find_class(problem->problem_class)->iterations;
}

static int ft_most_ranks(const struct problem *problem) {
    /* Pencils: ny is cut by the nz rows of processes, ny and nz by the columns. */
    const struct ft_class *size = find_class(problem->problem_class);
    return size->nz * (size->ny < size->nz ? size->ny : size->nz);
}

static int ft_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    return nas_power_of_two("ft", problem, ranks, ft_most_ranks(problem), why, why_bytes);
}

const struct workload workload_ft = {
    .name = "ft",
    .title = "NAS Parallel Benchmarks FT: fast Fourier transforms in three dimensions",
    .pattern = "all-to-all in rows and columns of the process grid (slabs: over all ranks)",
    .classes = "SWABCD",
    .iterations = ft_iterations,
    .grid = ft_grid,
    .accepts = ft_accepts,
    .run = ft_run,
};
