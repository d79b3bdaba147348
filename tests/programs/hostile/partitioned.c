/* SPDX-License-Identifier: BSD-3-Clause */
/* A partitioned send of 4 times 100 bytes, twice: its bytes are those of the partitions that were marked
 * ready. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    static char out[400], in[400];
    int rank, size;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Psend_init(out, 4, 100, MPI_CHAR, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, 100, MPI_CHAR, previous, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int lap = 0; lap < 2; lap++) {
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 3, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    sent("MPI_Psend_init", next, 8, 800);
    received("MPI_Precv_init", previous, 8, 800);
    expect_close();
    MPI_Finalize();
    return 0;
}
