/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a plate with a hole, an example of work that is not dealt evenly: each rank has as many rows as the
 * others, but the hole, where there is nothing to compute, is in the lower half of the plate.
 *
 *     mpicc -O2 -g heat.c -o heat -lm
 *     mpiexec -n 2 -bind-to core ./heat
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1024, COLUMNS = 1024, HOLE_FROM = 512, HOLE_COLUMNS = 640, STEPS = 500, TELL_EVERY = 20 };

static double *row_of(double *plate, int row) {
    return plate + (size_t)row * COLUMNS;
}

/* The new temperature of a row of which the first cells are computed; returns the largest change. */
static double compute_row(double *old, double *new, int row, int columns) {
    const double *above = row_of(old, row - 1), *here = row_of(old, row), *below = row_of(old, row + 1);
    double *next = row_of(new, row), largest = 0;
    for (int column = 1; column < columns - 1; column++) {
        next[column] = 0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
        largest = fmax(largest, fabs(next[column] - here[column]));
    }
    return largest;
}

static double compute(double *old, double *new, int first, int rows) {
    double largest = 0;
    for (int row = 1; row <= rows; row++) {
        const int in_hole = first + row - 1 >= HOLE_FROM;
        largest = fmax(largest, compute_row(old, new, row, in_hole ? COLUMNS - HOLE_COLUMNS : COLUMNS));
    }
    return largest;
}

/* Each rank gets the rows next to its own from the ranks above and below. */
static void exchange(double *plate, int rows, int above, int below) {
    MPI_Request requests[4];
    MPI_Irecv(row_of(plate, 0), COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row_of(plate, rows + 1), COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(row_of(plate, 1), COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(row_of(plate, rows), COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int rows = ROWS / size;
    const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double *old = calloc((size_t)(rows + 2) * COLUMNS, sizeof *old);
    double *new = calloc((size_t)(rows + 2) * COLUMNS, sizeof *new);
    if (!old || !new)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) /* the upper edge is hot */
        for (int column = 0; column < COLUMNS; column++)
            old[column] = new[column] = 100;
    double change = 0;
    for (int step = 1; step <= STEPS; step++) {
        exchange(old, rows, above, below);
        const double own = compute(old, new, rank * rows, rows);
        if (step % TELL_EVERY == 0)
            MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        double *swapped = old;
        old = new;
        new = swapped;
    }
    if (rank == 0)
        printf("heat: %d steps, last change %.4f\n", STEPS, change);
    free(old);
    free(new);
    MPI_Finalize();
    return 0;
}
