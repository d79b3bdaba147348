/* SPDX-License-Identifier: BSD-3-Clause */
/* 2200 communicators, more than a library has at once, each freed before the next; a message in every
 * hundredth. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    for (int i = 1; i <= 2200; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? rank : -rank, &comm);
        if (i % 100 == 0) { /* in reversed order */
            int self, in;
            MPI_Comm_rank(comm, &self);
            MPI_Sendrecv(&i, 1, MPI_INT, (self + 1) % size, 0, &in, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm,
                         MPI_STATUS_IGNORE);
            sent("MPI_Sendrecv", (rank + size - 1) % size, 1, 4);
            received("MPI_Sendrecv", (rank + 1) % size, 1, 4);
        }
        MPI_Comm_free(&comm);
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
