/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks, four threads each, 2000 messages each way by thread, in blocking and nonblocking calls. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, MESSAGES = 2000 };

static void *exchange(void *number) {
    int tag = *(int *)number, rank;
    char out[100] = {0}, in[100];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES / 2; i++) {
        MPI_Request request;
        MPI_Irecv(in, 100, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
        MPI_Send(out, tag + 1, MPI_CHAR, !rank, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Sendrecv(out, tag + 1, MPI_CHAR, !rank, tag, in, 100, MPI_CHAR, !rank, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        printf("no threads\n");
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, exchange, &numbers[i]);
    }
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
