/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time of single MPI calls in one process, where nothing else blurs it. Prints one line for each phase: its name and
 * the 10th percentile of the batches, in ns a call.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 200, CALLS = 1000 };

static double out = 1, in;
static MPI_Request request;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void iprobe(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void send_to_nobody(void) { MPI_Send(&out, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }

static void message_to_myself(void) {
    MPI_Irecv(&in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&out, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce(void) { MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); }

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*phase)(void), int calls) {
    static double batches[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now_ns();
        for (int i = 0; i < CALLS; i++)
            phase();
        batches[batch] = (now_ns() - begin) / CALLS / calls;
    }
    qsort(batches, BATCHES, sizeof *batches, order);
    printf("%s %.3f\n", name, batches[BATCHES / 10]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    measure("iprobe", iprobe, 1);
    measure("send_proc_null", send_to_nobody, 1);
    measure("message_to_self", message_to_myself, 3);
    measure("allreduce_self", allreduce, 1);
    MPI_Finalize();
    return 0;
}
