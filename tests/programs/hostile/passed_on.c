/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: 4 threads a rank start receives and sends round the ring and leave them to each other:
 * each completes what the thread before it started, in any way, while that starts more. Libraries hand out
 * the handles of what one thread has completed to another one at once.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>

#include "../expect.h"

enum { THREADS = 4, BATCHES = 250, EACH = 6, MOST = 2 * EACH };
static int next, before;
static char in[THREADS][3][EACH][16];

/* Where each thread leaves its requests for the next one. */
static struct {
    pthread_mutex_t mutex;
    int full;
    MPI_Request requests[MOST];
} left[THREADS];

static void leave(int thread, const MPI_Request *requests) {
    for (int done = 0; !done; sched_yield()) {
        pthread_mutex_lock(&left[thread].mutex);
        if (!left[thread].full) {
            for (int i = 0; i < MOST; i++)
                left[thread].requests[i] = requests[i];
            left[thread].full = done = 1;
        }
        pthread_mutex_unlock(&left[thread].mutex);
    }
}

static void take(int thread, MPI_Request *requests) {
    for (int done = 0; !done; sched_yield()) {
        pthread_mutex_lock(&left[thread].mutex);
        if (left[thread].full) {
            for (int i = 0; i < MOST; i++)
                requests[i] = left[thread].requests[i];
            left[thread].full = 0;
            done = 1;
        }
        pthread_mutex_unlock(&left[thread].mutex);
    }
}

static void complete(int way, MPI_Request *requests) {
    int index, some, indices[MOST], flag;
    switch (way % 5) {
    case 0:
        MPI_Waitall(MOST, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        for (int i = 0; i < MOST; i++)
            MPI_Waitany(MOST, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int done = 0; done < MOST; done += some)
            MPI_Waitsome(MOST, requests, &some, indices, MPI_STATUSES_IGNORE);
        break;
    case 3:
        for (int done = 0; done < MOST; done += flag)
            MPI_Testany(MOST, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    default:
        for (int i = 0; i < MOST; i++)
            for (flag = 0; !flag;)
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
}

static void *exchange(void *number) {
    const int thread = *(int *)number;
    char out[16] = {0};
    MPI_Request requests[MOST];
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < EACH; i++)
            MPI_Irecv(in[thread][batch % 3][i], 16, MPI_CHAR, i % 2 ? before : MPI_ANY_SOURCE, thread,
                      MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < EACH; i++)
            MPI_Isend(out, thread + i, MPI_CHAR, next, thread, MPI_COMM_WORLD, &requests[EACH + i]);
        leave(thread, requests);
        take((thread + THREADS - 1) % THREADS, requests);
        complete(batch + thread, requests);
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
    before = (rank + size - 1) % size;
    for (int i = 0; i < THREADS; i++)
        pthread_mutex_init(&left[i].mutex, NULL);
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, exchange, &numbers[i]);
    }
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
    if (provided == MPI_THREAD_MULTIPLE) {
        const long messages = (long)THREADS * BATCHES * EACH;
        const long long bytes =
            (long long)BATCHES * (EACH * (0 + 1 + 2 + 3) + THREADS * (0 + 1 + 2 + 3 + 4 + 5));
        sent("MPI_Isend", next, messages, bytes);
        received("MPI_Irecv", before, messages, bytes);
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
