/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time of single MPI calls. One rank: calls that stay in the process, where nothing else blurs them. Two
 * ranks: a ping-pong and windows of messages. Rank 0 prints one line for each phase: its name, the best
 * batch, and the 10th percentile of the batches, in ns a call. A phase that takes long, because the ranks
 * have no cores of their own, has fewer batches. With the argument `multiple`, threads may call at the same
 * time (MPI_THREAD_MULTIPLE), though one does.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 200, FEWEST = 10, WINDOW = 32 };
#define PHASE_NS 1e9

static double out = 1, in;
static char sent[WINDOW][64], received[WINDOW][64];
static MPI_Request request, requests[2 * WINDOW];
static int rank;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void iprobe(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void send_to_nobody(void) {
    MPI_Send(&out, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void message_to_myself(void) {
    MPI_Irecv(&in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&out, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce(void) {
    MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void ping_pong(void) {
    if (rank == 0)
        MPI_Send(&out, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&in, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&out, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

static void window(void) {
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(received[i], 64, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(sent[i], 64, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[WINDOW + i]);
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

static void window_to_myself(void) {
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(received[i], 64, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(sent[i], 64, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[WINDOW + i]);
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*phase)(void), int repetitions, int calls) {
    static double batches[BATCHES];
    const double start = now_ns();
    int count = 0, more = 1;
    while (more) {
        const double begin = now_ns();
        for (int i = 0; i < repetitions; i++)
            phase();
        const double end = now_ns();
        batches[count++] = (end - begin) / repetitions / calls;
        more = count < FEWEST || (count < BATCHES && end - start < PHASE_NS);
        /* All ranks stop after the same batch. */
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(batches, (size_t)count, sizeof *batches, order);
    if (rank == 0)
        printf("%s %.3f %.3f\n", name, batches[0], batches[count / 10]);
}

int main(int argc, char **argv) {
    int size, provided;
    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1) {
        measure("iprobe", iprobe, 1000, 1);
        measure("send_proc_null", send_to_nobody, 1000, 1);
        measure("message_to_self", message_to_myself, 1000, 3);
        measure("allreduce_self", allreduce, 1000, 1);
        measure("window_32_self", window_to_myself, 20, 2 * WINDOW + 1);
    } else {
        /* Four calls follow each other in a round trip: a send and a receive on either side. */
        measure("ping_pong_8", ping_pong, 500, 4);
        measure("window_32", window, 20, 2 * WINDOW + 1);
    }
    MPI_Finalize();
    return 0;
}
