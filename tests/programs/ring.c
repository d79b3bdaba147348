/* SPDX-License-Identifier: BSD-3-Clause */
/* A token of 1000 bytes goes round all ranks 23 times (or argv[1] times). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int laps = argc > 1 ? atoi(argv[1]) : 23, rank, size;
    char token[1000] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int lap = 0; lap < laps; lap++) {
        if (size == 1) {
            MPI_Sendrecv_replace(token, sizeof token, MPI_CHAR, 0, 7, 0, 7, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        } else if (rank == 0) {
            MPI_Send(token, sizeof token, MPI_CHAR, next, 7, MPI_COMM_WORLD);
            MPI_Recv(token, sizeof token, MPI_CHAR, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(token, sizeof token, MPI_CHAR, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(token, sizeof token, MPI_CHAR, next, 7, MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("%d laps\n", laps);
    MPI_Finalize();
    return 0;
}
