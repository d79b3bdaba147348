/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowded PU0 PU1 S: for S seconds the first thread computes on PU0 and two others on PU1, 50 ms at a time;
 * between these it calls MPI, while the others sleep.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "move_to.h"

static int ended, working;

static void *compute(void *pu) {
    move_to(*(int *)pu);
    while (!__atomic_load_n(&ended, __ATOMIC_RELAXED))
        if (!__atomic_load_n(&working, __ATOMIC_RELAXED))
            usleep(500);
    return NULL;
}

int main(int argc, char **argv) {
    int level, pus[2] = {atoi(argv[1]), atoi(argv[2])};
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    move_to(pus[0]);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, compute, &pus[1]);
    for (const double end = MPI_Wtime() + atof(argv[3]); MPI_Wtime() < end;) {
        __atomic_store_n(&working, 1, __ATOMIC_RELAXED);
        for (const double pause = MPI_Wtime() + 0.05; MPI_Wtime() < pause;)
            ;
        __atomic_store_n(&working, 0, __ATOMIC_RELAXED);
        usleep(2000);
        MPI_Barrier(MPI_COMM_SELF);
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
