/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that share one core: `steps` times so many microseconds of processor time, then a barrier. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    const int steps = atoi(argv[1]);
    const double work = 1e-6 * atof(argv[2]);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(atoi(argv[3]), &one);
    sched_setaffinity(0, sizeof one, &one);
    MPI_Init(&argc, &argv);
    for (int step = 0; step < steps; step++) {
        volatile double sum = 0;
        for (const double end = processor_time() + work; processor_time() < end;)
            for (int i = 0; i < 300; i++)
                sum += i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
