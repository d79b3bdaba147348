/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that calls MPI for a while, so that samples are taken. */
#ifndef RANKWISE_TESTS_CALLING_H
#define RANKWISE_TESTS_CALLING_H

#include <mpi.h>
#include <time.h>

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void call_for(double seconds) {
    for (const double end = now() + seconds; now() < end;)
        MPI_Barrier(MPI_COMM_SELF);
}

#endif
