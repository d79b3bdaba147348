/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: drive DIRECTORY SEED STEPS THREADS: drives the recorder, linked into this program, by random calls
 * on a library that is none. Prints for each peer how many messages and bytes were sent and received, summed
 * over the threads.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_mpi.h"

extern rw_attach_function rankwise_record_attach;

static struct rw_library library;
static rw_function slots[RW_ENTRIES][RW_CALL_COUNT];
static int steps;

#define CALL(entry, name, ...) ((int (*)(__VA_ARGS__))slots[entry][RW_CALL_##name])

/* What one thread did: [sent, received][peer] -> messages, bytes. */
struct tally {
    unsigned seed;
    long long messages[2][FAKE_SIZE], bytes[2][FAKE_SIZE];
};

static unsigned draw(struct tally *tally, unsigned below) {
    tally->seed = tally->seed * 1664525u + 1013904223u;
    return (tally->seed >> 8) % below;
}

static void count(struct tally *tally, int direction, int peer, long long bytes) {
    if (peer == MPI_PROC_NULL)
        return;
    if (peer == MPI_ANY_SOURCE)
        peer = FAKE_SIZE - 1;
    tally->messages[direction][peer]++;
    tally->bytes[direction][peer] += bytes;
}

enum { MOST = 80 };

/* Requests that one thread has left for another one to complete. */
static struct {
    pthread_mutex_t mutex;
    int n;
    MPI_Request handles[MOST];
} left_behind = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int swap_with_another(int n, MPI_Request handles[MOST]) {
    MPI_Request own[MOST];
    memcpy(own, handles, sizeof own);
    pthread_mutex_lock(&left_behind.mutex);
    const int others = left_behind.n;
    memcpy(handles, left_behind.handles, sizeof left_behind.handles);
    memcpy(left_behind.handles, own, sizeof own);
    left_behind.n = n;
    pthread_mutex_unlock(&left_behind.mutex);
    return others;
}

static void requests(struct tally *tally, int entry, MPI_Comm comm) {
    MPI_Request handles[MOST] = {0};
    MPI_Status statuses[MOST];
    int indices[MOST], n = 1 + (int)draw(tally, MOST), index, some, flag;
    for (int i = 0; i < n; i++) {
        int peer = draw(tally, 10) ? (int)draw(tally, FAKE_SIZE) : MPI_PROC_NULL;
        int size = (int)draw(tally, 5000);
        if (draw(tally, 2)) {
            CALL(entry, Isend, const void *, int, MPI_Datatype, int, int, MPI_Comm,
                 MPI_Request *)(NULL, size, MPI_CHAR, peer, 0, comm, &handles[i]);
            count(tally, 0, peer, size);
        } else {
            if (draw(tally, 4) == 0)
                peer = MPI_ANY_SOURCE;
            CALL(entry, Irecv, void *, int, MPI_Datatype, int, int, MPI_Comm,
                 MPI_Request *)(NULL, size, MPI_CHAR, peer, 0, comm, &handles[i]);
            count(tally, 1, peer, size);
        }
    }
    if (fake_threads > 1 && draw(tally, 2))
        n = swap_with_another(n, handles);
    int left = n;
    switch (draw(tally, 4)) {
    case 0:
        CALL(entry, Waitall, int, MPI_Request *,
             MPI_Status *)(n, handles, draw(tally, 2) ? MPI_STATUSES_IGNORE : statuses);
        break;
    case 1:
        for (; left > 0; left--)
            CALL(entry, Waitany, int, MPI_Request *, int *, MPI_Status *)(n, handles, &index,
                                                                          MPI_STATUS_IGNORE);
        break;
    case 2:
        while (left > 0) {
            CALL(entry, Waitsome, int, MPI_Request *, int *, int *, MPI_Status *)(n, handles, &some, indices,
                                                                                  MPI_STATUSES_IGNORE);
            left -= some;
        }
        break;
    default:
        for (int i = 0; i < n; i++)
            for (flag = 0; !flag;)
                CALL(entry, Test, MPI_Request *, int *, MPI_Status *)(&handles[i], &flag, MPI_STATUS_IGNORE);
    }
}

static void persistent(struct tally *tally, int entry) {
    MPI_Request request;
    int peer = (int)draw(tally, FAKE_SIZE), laps = (int)draw(tally, 5);
    CALL(entry, Send_init, const void *, int, MPI_Datatype, int, int, MPI_Comm,
         MPI_Request *)(NULL, 40, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &request);
    for (int lap = 0; lap < laps; lap++) {
        CALL(entry, Start, MPI_Request *)(&request);
        CALL(entry, Wait, MPI_Request *, MPI_Status *)(&request, MPI_STATUS_IGNORE);
        count(tally, 0, peer, 40);
    }
    CALL(entry, Request_free, MPI_Request *)(&request);
    CALL(entry, Psend_init, const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
         MPI_Request *)(NULL, 3, 7, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    CALL(entry, Start, MPI_Request *)(&request);
    CALL(entry, Pready, int, MPI_Request)(1, request);
    count(tally, 0, peer, 7);
    CALL(entry, Request_free, MPI_Request *)(&request);
}

static void windows(struct tally *tally, int entry) {
    MPI_Win win;
    CALL(entry, Win_create, void *, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win *)(NULL, 0, 1, MPI_INFO_NULL,
                                                                                  MPI_COMM_WORLD, &win);
    for (unsigned i = draw(tally, 5); i > 0; i--) {
        int peer = (int)draw(tally, FAKE_SIZE);
        CALL(entry, Put, const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype,
             MPI_Win)(NULL, 9, MPI_CHAR, peer, 0, 9, MPI_CHAR, win);
        CALL(entry, Get, void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype,
             MPI_Win)(NULL, 5, MPI_CHAR, peer, 0, 5, MPI_CHAR, win);
        count(tally, 0, peer, 9);
        count(tally, 1, peer, 5);
    }
    CALL(entry, Win_free, MPI_Win *)(&win);
}

static void collectives(struct tally *tally, int entry, MPI_Comm comm) {
    int counts[FAKE_SIZE], same[FAKE_SIZE];
    CALL(entry, Allreduce, const void *, void *, int, MPI_Datatype, MPI_Op,
         MPI_Comm)(MPI_IN_PLACE, NULL, (int)draw(tally, 3000), MPI_INT, MPI_SUM, comm);
    CALL(entry, Bcast, void *, int, MPI_Datatype, int, MPI_Comm)(NULL, (int)draw(tally, 3000), MPI_CHAR, 0,
                                                                 comm);
    for (int i = 0; i < FAKE_SIZE; i++) {
        counts[i] = (int)draw(tally, 3);
        same[i] = 0;
        if (i != FAKE_RANK && counts[i])
            count(tally, 0, i, counts[i]);
    }
    CALL(entry, Alltoallv, const void *, const int *, const int *, MPI_Datatype, void *, const int *,
         const int *, MPI_Datatype,
         MPI_Comm)(NULL, counts, same, MPI_CHAR, NULL, same, same, MPI_DATATYPE_NULL, comm);
    CALL(entry, Neighbor_allgather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
         MPI_Comm)(NULL, 6, MPI_CHAR, NULL, 6, MPI_CHAR, comm); /* 0 and 2, nobody and 2 */
    count(tally, 0, 0, 6);
    count(tally, 0, 2, 6);
    count(tally, 0, 2, 6);
}

static void *work(void *given) {
    struct tally *tally = given;
    for (int i = 0; i < steps; i++) {
        MPI_Comm comm = MPI_COMM_WORLD;
        int entry = (int)draw(tally, 2), peer = (int)draw(tally, FAKE_SIZE), size = (int)draw(tally, 100000);
        if (draw(tally, 3) == 0)
            CALL(entry, Comm_dup, MPI_Comm, MPI_Comm *)(MPI_COMM_WORLD, &comm);
        CALL(entry, Send, const void *, int, MPI_Datatype, int, int, MPI_Comm)(NULL, size, MPI_CHAR, peer, 0,
                                                                               comm);
        count(tally, 0, peer, size);
        CALL(entry, Recv, void *, int, MPI_Datatype, int, int, MPI_Comm,
             MPI_Status *)(NULL, size, MPI_CHAR, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE);
        count(tally, 1, MPI_ANY_SOURCE, size);
        CALL(entry, Sendrecv, const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int,
             MPI_Comm, MPI_Status *)(NULL, 3, MPI_INT, peer, 0, NULL, 2, (MPI_Datatype)0x8c000001,
                                     MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
        count(tally, 0, peer, 12);
        requests(tally, entry, comm);
        persistent(tally, entry);
        windows(tally, entry);
        collectives(tally, entry, comm);
        CALL(entry, Type_free, MPI_Datatype *)(&(MPI_Datatype){(MPI_Datatype)0x8c000001});
        if (comm != MPI_COMM_WORLD)
            CALL(entry, Comm_free, MPI_Comm *)(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    enum { MOST_THREADS = 8 };
    static struct tally tallies[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    int n = argc > 4 ? atoi(argv[4]) : 1, provided;
    steps = atoi(argv[3]);
    fake_threads = n;
    library = (struct rw_library){
        .path = "/fake/libmpi.so.12", .version = "MPICH Version: 5.0.2", .flavour = 1, .directory = argv[1]};
    fake_fill(library.next[RW_MPI]);
    fake_fill(library.next[RW_PMPI]);
    const char *trouble = rankwise_record_attach(RW_ATTACH_VERSION, &library, slots);
    if (trouble) {
        fprintf(stderr, "%s\n", trouble);
        return 3;
    }
    CALL(RW_MPI, Init_thread, int *, char ***, int, int *)(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < n; i++) {
        tallies[i].seed = (unsigned)(atoi(argv[2]) * 100 + i);
        pthread_create(&threads[i], NULL, work, &tallies[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    CALL(RW_MPI, Waitall, int, MPI_Request *, MPI_Status *)(left_behind.n, left_behind.handles,
                                                            MPI_STATUSES_IGNORE);
    CALL(RW_MPI, Finalize, void)();
    for (int peer = 0; peer < FAKE_SIZE; peer++) {
        long long sums[4] = {0};
        for (int i = 0; i < n; i++) {
            sums[0] += tallies[i].messages[0][peer];
            sums[1] += tallies[i].bytes[0][peer];
            sums[2] += tallies[i].messages[1][peer];
            sums[3] += tallies[i].bytes[1][peer];
        }
        printf("%d %lld %lld %lld %lld\n", peer, sums[0], sums[1], sums[2], sums[3]);
    }
    return 0;
}
