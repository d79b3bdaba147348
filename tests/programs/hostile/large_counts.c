/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpi4py calls on a library of MPI 4: the functions with counts of type MPI_Count. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    char out[30] = {0}, in[30];
    double sum, one = 1;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Sendrecv_c(out, 30, MPI_CHAR, (rank + 1) % size, 0, in, 30, MPI_CHAR, MPI_ANY_SOURCE, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce_c(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast_c(out, 30, MPI_CHAR, 0, MPI_COMM_WORLD);
    sent("MPI_Sendrecv_c", (rank + 1) % size, 1, 30);
    received("MPI_Sendrecv_c", (rank + size - 1) % size, 1, 30);
    collective("MPI_Allreduce_c", 8, 1);
    collective("MPI_Bcast_c", 30, 1);
    expect_close();
    MPI_Finalize();
    return 0;
}
