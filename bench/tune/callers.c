/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callers SECONDS: ranks that exchange 1 KiB with both neighbours of a ring some 40 times a second and sleep
 * else, so that many of them need little of a processor.
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double seconds = argc > 1 ? atof(argv[1]) : 10;
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    char sent[1024] = {0}, received[1024];
    const double begin = MPI_Wtime();
    /* Rank 0 says when it is the end. */
    for (int more = 1; more;) {
        MPI_Request both[2];
        int done = 0;
        if (rank == 0)
            more = MPI_Wtime() - begin < seconds;
        usleep(20000);
        MPI_Iallreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &both[0]);
        for (MPI_Test(&both[0], &done, MPI_STATUS_IGNORE); !done;
             MPI_Test(&both[0], &done, MPI_STATUS_IGNORE))
            usleep(2000);
        MPI_Isend(sent, sizeof sent, MPI_BYTE, next, 0, MPI_COMM_WORLD, &both[0]);
        MPI_Irecv(received, sizeof received, MPI_BYTE, before, 0, MPI_COMM_WORLD, &both[1]);
        for (MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE); !done;
             MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE))
            usleep(2000);
    }
    MPI_Finalize();
    return 0;
}
