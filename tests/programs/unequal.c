/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in which each rank has a block of its own length, some of them empty. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static const int lengths[] = {1, 10, 300, 2000, 9000};
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size);
    for (unsigned at = 0; at < sizeof lengths / sizeof *lengths; at++) {
        int sum = 0;
        for (int i = 0; i < size; i++) {
            counts[i] = lengths[at] * (i % 4) + (i == 2);
            places[i] = sum;
            sum += counts[i];
        }
        int *out = calloc((size_t)sum + 1, sizeof(int)), *in = calloc((size_t)sum + 1, sizeof(int));
        MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
        MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
