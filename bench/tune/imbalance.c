/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * imbalance SECONDS PHASE_SECONDS BYTES WORK...: ranks that compute unlike amounts and meet in each
 * iteration.
 *
 * In an iteration rank r computes WORK[r] units, then exchanges BYTES with both neighbours of a ring and
 * meets all others. Every PHASE_SECONDS (0: never) the amounts move on by one rank. Rank 0 prints `MOMENT
 * ITERATIONS` ten times a second, MOMENT being CLOCK_MONOTONIC. SIGUSR1 to rank 0 ends all of them.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "compute.h"

static volatile sig_atomic_t over;

static void end(int signal) {
    (void)signal;
    over = 1;
}

int main(int argc, char **argv) {
    signal(SIGUSR1, end);
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 + ranks) {
        if (rank == 0)
            fprintf(stderr, "usage: imbalance SECONDS PHASE_SECONDS BYTES WORK..., one WORK a rank\n");
        MPI_Finalize();
        return 2;
    }
    const double seconds = atof(argv[1]), phase = atof(argv[2]);
    const int bytes = atoi(argv[3]);
    char *sent = calloc((size_t)bytes + 1, 1), *received = calloc((size_t)bytes + 1, 1);
    uint64_t state = 88172645463325252ull + (uint64_t)rank;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = moment();
    double said = begin;
    /* Of rank 0: how long it has run, so that all agree on the phase and on the end. */
    double elapsed = 0;
    for (long iterations = 0; elapsed < seconds; iterations++) {
        const int shift = phase > 0 ? (int)(elapsed / phase) % ranks : 0;
        state = compute(atol(argv[4 + (rank + shift) % ranks]), state);
        const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
        MPI_Sendrecv(sent, bytes, MPI_BYTE, next, 0, received, bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        const double now = moment();
        elapsed = over ? seconds : now - begin;
        MPI_Bcast(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0 && now - said >= 0.1) {
            printf("%.6f %ld\n", now, iterations + 1);
            fflush(stdout);
            said = now;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    free(sent);
    free(received);
    return state == 0;
}
