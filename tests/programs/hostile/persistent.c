/* SPDX-License-Identifier: BSD-3-Clause */
/* 10 persistent sends of 2000 bytes: nothing is sent where they are made, everything where they are started. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    static char out[2000], in[2000];
    int rank, size;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Send_init(out, 2000, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 2000, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 10; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    sent("MPI_Send_init", (rank + 1) % size, 10, 20000);
    received("MPI_Recv_init", (rank + size - 1) % size, 10, 20000);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    expect_close();
    MPI_Finalize();
    return 0;
}
