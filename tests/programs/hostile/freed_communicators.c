/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that were used and freed are still told apart at the end. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank, size;
    char out[9] = {0}, in[9];
    MPI_Comm comms[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comms[2]);
    const int to[3] = {(rank + 1) % size, (rank + size - 1) % size, rank};
    const int from[3] = {(rank + size - 1) % size, (rank + 1) % size, rank};
    for (int i = 0; i < 3; i++) {
        int self, n;
        MPI_Comm_rank(comms[i], &self);
        MPI_Comm_size(comms[i], &n);
        MPI_Sendrecv(out, 7 + i, MPI_CHAR, (self + 1) % n, 0, in, 9, MPI_CHAR, MPI_ANY_SOURCE, 0, comms[i],
                     MPI_STATUS_IGNORE);
        sent("MPI_Sendrecv", to[i], 1, 7 + i);
        received("MPI_Sendrecv", from[i], 1, 7 + i);
    }
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&comms[i]);
    expect_close();
    MPI_Finalize();
    return 0;
}
