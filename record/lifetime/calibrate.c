/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recording adds to a call: MPI_Send's own wrapper, around a function that does nothing, on a record
 * that nobody reads. Messages of one size to one peer, all of it in the cache: what a busy loop of the
 * program pays.
 */
#include "lifetime/calibrate.h"
#include "thread/current.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "handles/communicators.h"
#include "process/process.h"
#include "trace/trace.h"

#define BATCHES 15
#define CALLS 64
#define PEER_SLOTS 16u
#define TRACE_BYTES 65536u

typedef int (*send_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

extern int rw_mpi_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm) RW_HIDDEN;

/* Everything the wrapper touches, so that nothing of this is in the recording. */
struct trial {
    struct rw_thread thread;
    struct rw_peer_entry peers[PEER_SLOTS];
    uint64_t bins[RW_TICK_BINS];
    union {
        struct rw_chunk_header run;
        unsigned char bytes[TRACE_BYTES];
    } trace;
};

static int do_nothing(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    (void)data, (void)count, (void)type, (void)peer, (void)tag, (void)comm;
    return MPI_SUCCESS;
}

static int order(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Median of the batches, ticks a batch. */
static uint64_t time_batches(send_function volatile *send) {
    static const double data = 0;
    uint64_t batches[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        const uint64_t begin = rw_ticks();
        for (int call = 0; call < CALLS; call++)
            (*send)(&data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        batches[batch] = rw_ticks() - begin;
    }
    qsort(batches, BATCHES, sizeof *batches, order);
    return batches[BATCHES / 2];
}

static void prepare(struct trial *trial, const struct rw_thread *like) {
    struct rw_thread *thread = &trial->thread;
    thread->rank = &thread->own_rank;
    thread->totals = thread->own_totals;
    thread->progress = &thread->own_progress;
    thread->next_sample = thread->gap_due = UINT64_MAX;
    thread->timed = like->timed;
    thread->traced = rw_process.traced;
    thread->full = 1;
    thread->peers = trial->peers;
    thread->peer_mask = PEER_SLOTS - 1;
    thread->peer_shift = (unsigned)__builtin_clzll(PEER_SLOTS) + 1;
    for (unsigned call = 0; call < RW_CALL_COUNT; call++)
        thread->histograms[call] = trial->bins;
    if (thread->traced)
        rw_trace_into(thread, &trial->trace.run, TRACE_BYTES);
}

void rw_calibrate(struct rw_thread *thread) {
    struct trial *trial =
        mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return;
    prepare(trial, thread);
    struct rw_thread *const self = rw_self;
    const rw_function next = rw_next[RW_MPI][RW_CALL_Send];
    rw_self = &trial->thread;
    rw_next[RW_MPI][RW_CALL_Send] = (rw_function)do_nothing;
    send_function volatile with = rw_mpi_Send, without = do_nothing;
    time_batches(&with); /* caches, and the branches */
    const uint64_t recorded = time_batches(&with), bare = time_batches(&without);
    rw_next[RW_MPI][RW_CALL_Send] = next;
    rw_self = self;
    rw_trace_release(&trial->thread);
    munmap(trial, sizeof *trial);
    if (recorded > bare)
        thread->rank->call_cost_ticks_1024 = (recorded - bare) * (1024 / CALLS);
}
