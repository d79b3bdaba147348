/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: 4 threads a rank, 4 x 2000 messages each way round the ring, none of them lost. */
#include <mpi.h>
#include <pthread.h>

#include "../expect.h"

enum { THREADS = 4, MESSAGES = 2000 };
static int next;

static void *exchange(void *number) {
    const int tag = *(int *)number;
    char out[4] = {0}, in[4];
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        MPI_Irecv(in, 4, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
        MPI_Send(out, tag + 1, MPI_CHAR, next, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int rank, size, provided, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    next = (rank + 1) % size;
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, exchange, &numbers[i]);
    }
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
    if (provided == MPI_THREAD_MULTIPLE) {
        sent("MPI_Send", next, THREADS * MESSAGES, MESSAGES * (1 + 2 + 3 + 4));
        received("MPI_Irecv", (rank + size - 1) % size, THREADS * MESSAGES, MESSAGES * (1 + 2 + 3 + 4));
        called("MPI_Wait", THREADS * MESSAGES);
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
