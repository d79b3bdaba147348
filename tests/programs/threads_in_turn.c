/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads_in_turn: a thread computes for 0.4 s and then calls MPI, and when it has ended, another one calls
 * MPI. Each calls for 0.1 s of its processor time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "calling.h"

static void *compute_and_call(void *computes_s) {
    const clockid_t own = CLOCK_THREAD_CPUTIME_ID;
    for (const double end = clock_s(own) + *(const double *)computes_s; clock_s(own) < end;)
        ;
    call_for(0.1);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        printf("no threads\n");
    for (int turn = 0; provided == MPI_THREAD_MULTIPLE && turn < 2; turn++) {
        double computes_s = turn == 0 ? 0.4 : 0;
        pthread_t thread;
        if (pthread_create(&thread, NULL, compute_and_call, &computes_s) != 0)
            abort();
        pthread_join(thread, NULL);
    }
    MPI_Finalize();
    return 0;
}
