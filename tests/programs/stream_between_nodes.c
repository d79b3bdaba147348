/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `stream_between_nodes BYTES COUNT`: rank 0 sends COUNT messages of BYTES to the last rank, which answers
 * the last one. Both say what the interface of their node had counted: when MPI_Init was left, after a first
 * message of this size, and after all.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void counters(const char *when, int rank) {
    char line[512];
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *const name = strstr(line, "eth0:");
        if (!name)
            continue;
        unsigned long long received, packets, sent, sent_packets;
        if (sscanf(name + 5, "%llu %llu %*u %*u %*u %*u %*u %*u %llu %llu", &received, &packets, &sent,
                   &sent_packets) == 4)
            printf("%d %s %llu %llu %llu %llu\n", rank, when, sent, sent_packets, received, packets);
    }
    if (file)
        fclose(file);
    fflush(stdout);
}

static void stream(int rank, int last, char *buffer, int bytes, int count) {
    for (int i = 0; i < count; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
        else if (rank == last)
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == last)
        MPI_Send(buffer, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(buffer, 0, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    const int bytes = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 1;
    int rank, size;
    counters("start", -1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *const buffer = calloc((size_t)bytes + 1, 1);
    counters("begun", rank);
    stream(rank, size - 1, buffer, bytes, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    counters("first", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    stream(rank, size - 1, buffer, bytes, count);
    counters("sent", rank);
    free(buffer);
    MPI_Finalize();
    counters("ended", rank);
    return 0;
}
