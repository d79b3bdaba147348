/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank r sends r bytes to 0, which takes whoever comes and does not ask who it was. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    char bytes[64] = {0};
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    if (rank > 0) {
        MPI_Send(bytes, rank, MPI_CHAR, 0, rank, MPI_COMM_WORLD);
        sent("MPI_Send", 0, 1, rank);
    } else {
        for (int i = 1; i < size; i++) {
            MPI_Recv(bytes, 64, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            received("MPI_Recv", i, 1, i);
        }
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
