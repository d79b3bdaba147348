/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairwise exchange: in step s, rank r sends 1000 bytes to r xor s; the number of ranks is a power of two. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size;
    char out[1000] = {0}, in[1000];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 1; step < size; step++)
        MPI_Sendrecv(out, 1000, MPI_CHAR, rank ^ step, 0, in, 1000, MPI_CHAR, rank ^ step, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
