/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * feed SECONDS WORK MESSAGES BYTES: rank 0 computes while rank 1 receives from rank 2.
 *
 * In an iteration rank 0 computes WORK units of some 10 us, rank 2 sends MESSAGES of BYTES to rank 1, and all
 * meet. Rank 0 prints `MOMENT ITERATIONS` ten times a second, MOMENT being CLOCK_MONOTONIC.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "compute.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5 || ranks != 3) {
        if (rank == 0)
            fprintf(stderr, "usage: feed SECONDS WORK MESSAGES BYTES, on three ranks\n");
        MPI_Finalize();
        return 2;
    }
    const double seconds = atof(argv[1]);
    const long work = atol(argv[2]), messages = atol(argv[3]);
    const int bytes = atoi(argv[4]);
    char *data = calloc((size_t)bytes + 1, 1);
    uint64_t state = 88172645463325252ull;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = moment();
    double said = begin, elapsed = 0; /* elapsed is rank 0's, so that all agree on the end */
    for (long iterations = 0; elapsed < seconds; iterations++) {
        if (rank == 0)
            state = compute(work, state);
        for (long message = 0; rank > 0 && message < messages; message++) {
            if (rank == 2)
                MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(data, bytes, MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (rank == 1)
            MPI_Send(data, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        else if (rank == 0)
            MPI_Recv(data, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double now = moment();
        elapsed = now - begin;
        MPI_Bcast(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0 && now - said >= 0.1) {
            printf("%.6f %ld\n", now, iterations + 1);
            fflush(stdout);
            said = now;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    free(data);
    return state == 0;
}
