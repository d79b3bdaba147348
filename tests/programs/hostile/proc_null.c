/* SPDX-License-Identifier: BSD-3-Clause */
/* 10 sends of 1000 bytes to nobody, of a datatype that need not be valid: no traffic, least of all to rank 0.
 */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    char bytes[1000] = {0};
    int rank;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect_open(rank);
    for (int i = 0; i < 10; i++)
        MPI_Send(bytes, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(bytes, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(bytes, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    called("MPI_Send", 10);
    called("MPI_Recv", 1);
    called("MPI_Start", 1);
    expect_close();
    MPI_Finalize();
    return 0;
}
