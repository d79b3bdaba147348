/* SPDX-License-Identifier: BSD-3-Clause */
/* Chapter 4 of MPI: 8 partitions of 100 ints to the successor, marked ready in each of the three ways, three
 * times. */
#include <mpi.h>

#include "../expect.h"

enum { PARTITIONS = 8, INTS = 100 };

int main(int argc, char **argv) {
    static int out[PARTITIONS * INTS], in[PARTITIONS * INTS];
    const int list[] = {7, 2, 5};
    int rank, size, arrived;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Precv_init(in, PARTITIONS, INTS, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(out, PARTITIONS, INTS, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int lap = 0; lap < 3; lap++) {
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 1, requests[1]);
        MPI_Pready_list(3, list, requests[1]);
        MPI_Pready(3, requests[1]);
        MPI_Pready(4, requests[1]);
        MPI_Pready(6, requests[1]);
        MPI_Parrived(requests[0], 0, &arrived);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    sent("MPI_Psend_init", next, 3 * PARTITIONS, 3 * PARTITIONS * INTS * 4);
    received("MPI_Precv_init", previous, 3 * PARTITIONS, 3 * PARTITIONS * INTS * 4);
    called("MPI_Pready", 9);
    called("MPI_Parrived", 3);
    expect_close();
    MPI_Finalize();
    return 0;
}
