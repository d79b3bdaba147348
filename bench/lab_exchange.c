/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose time in a lab is known without running it: so many steps, in each of which all ranks
 * compute for a known processor time, exchange a known number of bytes with the rank that is half the ranks
 * further, and meet.
 *
 * Usage: lab_exchange STEPS COMPUTE_US BYTES     Rank 0 prints the seconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double used_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const int steps = atoi(argv[1]), bytes = atoi(argv[3]);
    const double compute_s = 1e-6 * atof(argv[2]);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int partner = (rank + ranks / 2) % ranks;
    char *sent = calloc(1, (size_t)bytes + 1), *received = calloc(1, (size_t)bytes + 1);
    double began_s = 0;
    /* The first step makes the connections. */
    for (int step = -1; step < steps; step++) {
        const double until_s = used_s() + compute_s;
        while (used_s() < until_s)
            ;
        MPI_Sendrecv(sent, bytes, MPI_BYTE, partner, 0, received, bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (step < 0)
            began_s = MPI_Wtime();
    }
    if (rank == 0)
        printf("%.6f\n", MPI_Wtime() - began_s);
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
