/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank posts rank + 5 receives of messages that nobody sends, and ends. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, data[16];
    MPI_Request requests[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rank + 5; i++)
        MPI_Irecv(&data[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Finalize();
    return 0;
}
