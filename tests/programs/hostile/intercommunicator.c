/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of the other group are world ranks too; a wildcard among them has a true source. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank, size, in;
    MPI_Comm half, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    if (size > 1) { /* the first rank, and all others in reversed order */
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, -rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank ? 0 : size - 1, 1, &inter);
        if (rank == 0) {
            for (int i = 1; i < size; i++) {
                MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE);
                MPI_Send(&in, 1, MPI_INT, i - 1, 0, inter);
                sent("MPI_Send", i, 1, 4);
                received("MPI_Recv", i, 1, 4);
            }
        } else {
            MPI_Send(&rank, 1, MPI_INT, 0, 0, inter);
            MPI_Recv(&in, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
            sent("MPI_Send", 0, 1, 4);
            received("MPI_Recv", 0, 1, 4);
        }
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
