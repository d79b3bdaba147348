/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says where each rank is, one line a rank: rank, host, ranks that share its memory, PUs it may run on.
 * With `COUNT BYTES`, rank 0 then sends so many messages of that size to the last rank and prints the seconds
 * taken. With `COUNT 0`, all ranks do COUNT rounds of Alltoall, Allreduce and a ring instead.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say_where(int rank, int ranks) {
    char line[256], *lines = malloc((size_t)ranks * sizeof line);
    MPI_Comm node;
    int on_node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &on_node);
    char host[64];
    gethostname(host, sizeof host);
    int used = snprintf(line, sizeof line, "%d %s %d", rank, host, on_node);
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int pu = 0; pu < CPU_SETSIZE && used < 240; pu++)
        if (CPU_ISSET(pu, &set))
            used += snprintf(line + used, sizeof line - (size_t)used, " %d", pu);
    MPI_Gather(line, sizeof line, MPI_CHAR, lines, sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < ranks; i++)
        puts(lines + (size_t)i * sizeof line);
    free(lines);
    MPI_Comm_free(&node);
}

static void talk(int rank, int ranks, int rounds) {
    char *out = calloc((size_t)ranks, 64), *in = calloc((size_t)ranks, 64);
    double one = 1, sum;
    for (int i = 0; i < rounds; i++) {
        MPI_Alltoall(out, 64, MPI_CHAR, in, 64, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % ranks, 0, in, 64, MPI_CHAR, (rank + ranks - 1) % ranks,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
}

static void send(int rank, int ranks, int count, int bytes) {
    char *buffer = calloc(1, (size_t)bytes);
    for (int i = 0; i < count; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD);
        if (rank == ranks - 1)
            MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(buffer);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    say_where(rank, ranks);
    if (argc > 2) {
        double start = MPI_Wtime();
        if (atoi(argv[2]))
            send(rank, ranks, atoi(argv[1]), atoi(argv[2]));
        else
            talk(rank, ranks, atoi(argv[1]));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            printf("%.6f s\n", MPI_Wtime() - start);
    }
    MPI_Finalize();
    return argc > 3 ? atoi(argv[3]) : 0;
}
