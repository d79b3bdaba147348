/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective of nobody but myself: no communicator of it may be looked for elsewhere. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank;
    double mine = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect_open(rank);
    for (int i = 0; i < 23; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    collective("MPI_Allreduce", 8, 23);
    expect_close();
    MPI_Finalize();
    return sum != 1;
}
