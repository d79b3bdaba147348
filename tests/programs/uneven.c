/* SPDX-License-Identifier: BSD-3-Clause */
/* uneven SECONDS STATUS: ranks that compute for unequal times and wait for each other; rank 0 says its mask
 * before and after. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static int cores(void) {
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : -1;
}

int main(int argc, char **argv) {
    int rank, go = 1, changes = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    const int before = cores();
    while (go) {
        volatile double work = 0;
        for (int i = 0; i < 100000 * (rank + 1); i++)
            work += i;
        changes += cores() != before;
        MPI_Barrier(MPI_COMM_WORLD);
        go = MPI_Wtime() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("changes %d\n", changes);
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
