/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LAMMPS: molecular dynamics, space cut into a grid of bricks (Plimpton, "Fast Parallel Algorithms for
 * Short-Range Molecular Dynamics", J. Comp. Phys. 117, 1995, section 5).
 *
 * In each step a rank sends the positions of atoms near its faces to its six neighbours, one dimension after
 * the other, so that what lies across edges and corners travels along: to the left and from the right, then
 * to the right and from the left, each time with MPI_Irecv, MPI_Send and MPI_Wait. With Newton's third law
 * used between ranks the forces come back in the opposite order. A dimension with one rank is copied. Every
 * so many steps temperature, energy and pressure are summed. The rebuilding of neighbour lists, when atoms
 * change ranks, is not there.
 */
#include "patterns/process_grid.h"
#include "workload.h"

enum { BYTES, FORCES, ATOMS, THERMO, OPTIONS };
enum { DIMENSIONS = 3, LEFT = -1, RIGHT = 1, TAG = 0 };
/* Energy and temperature are one number each, the pressure six. */
enum { TENSOR = 6 };

/* Of one pair of atoms and step, and pairs of one atom at the density and cut-off of the Lennard-Jones
 * benchmark. */
static const double operations_of_pair = 23, pairs_of_atom = 37;

static const char *const no_yes[] = {"no", "yes", NULL};

static const struct workload_option options[OPTIONS] = {
    [BYTES] = {"bytes", "of each message", NULL, 0, 1 << 30, 256 << 10},
    [FORCES] = {"forces", "whether forces are sent back to the atoms' owners", no_yes, 0, 1, 1},
    [ATOMS] = {"atoms", "of each rank, for the computation", NULL, 0, 1 << 30, 32000},
    [THERMO] = {"thermo", "steps between sums of temperature, energy and pressure", NULL, 1, 1000000, 100},
};

static void lammps_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid_cut(ranks, DIMENSIONS, grid);
}

static void swap(struct comm *comm, const struct process_grid *grid, int dimension, int direction,
                 int64_t bytes) {
    int to = grid_along(grid, dimension, direction), from = grid_along(grid, dimension, -direction);
    if (to == comm->rank)
        return;
    int request = comm_irecv(comm, from, TAG, COMM_BYTE, bytes, bytes);
    comm_send(comm, to, TAG, COMM_BYTE, bytes);
    comm_wait(comm, request);
}

static void sum_thermo(struct comm *comm) {
    comm_allreduce(comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_SUM);
    comm_allreduce(comm, COMM_WORLD, COMM_DOUBLE, 1, COMM_SUM);
    comm_allreduce(comm, COMM_WORLD, COMM_DOUBLE, TENSOR, COMM_SUM);
}

static void lammps_run(struct comm *comm, const struct problem *problem) {
    int extent[DIMENSIONS];
    lammps_grid(problem, comm->size, extent);
    struct process_grid grid = grid_of(extent, comm->rank, 1);
    int64_t bytes = problem->option[BYTES];
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int step = 1; step <= problem->iterations; step++) {
        for (int d = 0; d < DIMENSIONS; d++) {
            swap(comm, &grid, d, LEFT, bytes);
            swap(comm, &grid, d, RIGHT, bytes);
        }
        comm_compute(comm, (double)problem->option[ATOMS] * pairs_of_atom * operations_of_pair);
        for (int d = DIMENSIONS - 1; problem->option[FORCES] && d >= 0; d--) {
            swap(comm, &grid, d, LEFT, bytes);
            swap(comm, &grid, d, RIGHT, bytes);
        }
        if (step % problem->option[THERMO] == 0)
            sum_thermo(comm);
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
}

static int lammps_iterations(const struct problem *problem) {
    (void)problem;
    return 100;
}

static int lammps_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    (void)problem, (void)ranks, (void)why, (void)why_bytes;
    return 1;
}

const struct workload workload_lammps = {
    .name = "lammps",
    .title = "LAMMPS: molecular dynamics in a grid of bricks",
    .pattern = "six neighbours in three dimensions, one dimension after the other",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = lammps_iterations,
    .grid = lammps_grid,
    .accepts = lammps_accepts,
    .run = lammps_run,
};
