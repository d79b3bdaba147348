/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: record_footprint PEERS. Each rank sends to that many others; rank 0 prints the KiB of memory that
 * the recorder's mappings (its libraries, the node's file) and all anonymous memory of the process take, the
 * most of all ranks, and how long its MPI_Finalize took in seconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void resident(long kib[2]) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    int kind = 1;
    long value;
    kib[0] = kib[1] = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "Rss: %ld kB", &value) == 1) {
            if (kind >= 0)
                kib[kind] += value;
        } else if (strchr(line, '-') && strchr(line, ' ') && strchr(line, '-') < strchr(line, ' ')) {
            kind = strstr(line, "librankwise") || strstr(line, ".rwn") ? 0 : strchr(line, '/') ? -1 : 1;
        }
    }
    if (maps)
        fclose(maps);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    int rank, size;
    long mine[2], most[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int peers = argc > 1 && atoi(argv[1]) < size ? atoi(argv[1]) : size - 1;
    for (int lap = 0; lap < 100; lap++)
        for (int i = 1; i <= peers; i++) {
            char out = 0, in;
            MPI_Sendrecv(&out, 1, MPI_CHAR, (rank + i) % size, 0, &in, 1, MPI_CHAR, (rank - i + size) % size,
                         0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    resident(mine);
    MPI_Reduce(mine, most, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    MPI_Finalize();
    if (rank == 0)
        printf("%ld %ld %.6f\n", most[0], most[1], now() - begin);
    return 0;
}
