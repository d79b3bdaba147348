/* SPDX-License-Identifier: BSD-3-Clause */
/* 20 neighbourhood collectives of 8 bytes on a ring, nonblocking so that the Wait has nothing to say. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank, size, dims[1], periods[1] = {1};
    double out = 1, in[2];
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    dims[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    for (int i = 0; i < 20; i++) {
        MPI_Request request;
        MPI_Ineighbor_allgather(&out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&ring);
    collective("MPI_Ineighbor_allgather", 8, 20);
    sent("MPI_Ineighbor_allgather", (rank + 1) % size, 20, 160);
    sent("MPI_Ineighbor_allgather", (rank + size - 1) % size, 20, 160);
    expect_close();
    MPI_Finalize();
    return 0;
}
