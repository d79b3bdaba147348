/* SPDX-License-Identifier: BSD-3-Clause */
/* How long calls took: one histogram for each function the program calls, made at its first call. */
#include "storage.h"
#include "thread.h"

static struct rw_call_histogram *next_histogram(struct rw_thread *thread) {
    struct rw_chunk_header *run = thread->histogram_run;
    const uint64_t room = RW_CHUNK_BYTES - sizeof *run;
    if (!run || room - run->used < sizeof(struct rw_call_histogram)) {
        run = thread->full || !thread->stored
                  ? NULL
                  : rw_storage_take(RW_CHUNK_HISTOGRAMS, 1, thread->histogram_runs, NULL);
        if (!run)
            return NULL;
        run->rank_chunk = thread->rank_chunk;
        rw_storage_publish(run);
        thread->histogram_run = run; /* the one before stays mapped: it is counted in */
        thread->histogram_runs++;
    }
    return (struct rw_call_histogram *)((char *)(run + 1) + run->used);
}

uint64_t *rw_first_call(struct rw_thread *thread, unsigned call) {
    static uint64_t not_kept[RW_TICK_BINS];
    struct rw_call_total *total = &thread->totals[call];
    if (total->count == 0)
        total->min_ticks = UINT64_MAX;
    struct rw_call_histogram *histogram = next_histogram(thread);
    if (!histogram) {
        if (!thread->stored) /* MPI_Init, before there is a file */
            return not_kept;
        return thread->histograms[call] = not_kept;
    }
    histogram->call = call;
    __atomic_store_n(&thread->histogram_run->used, thread->histogram_run->used + sizeof *histogram, __ATOMIC_RELEASE);
    return thread->histograms[call] = histogram->bins;
}
