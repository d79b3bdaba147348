/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that calls MPI for a while, so that samples are taken. */
#ifndef RANKWISE_TESTS_CALLING_H
#define RANKWISE_TESTS_CALLING_H

#include <mpi.h>
#include <time.h>

static double clock_s(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Of processor time: who has no core for so long would not call at all. */
static void call_for(double seconds) {
    const clockid_t own = CLOCK_THREAD_CPUTIME_ID;
    for (const double end = clock_s(own) + seconds; clock_s(own) < end;)
        MPI_Barrier(MPI_COMM_SELF);
}

#endif
