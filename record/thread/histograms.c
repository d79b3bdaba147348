/* SPDX-License-Identifier: BSD-3-Clause */
/* How long calls took: one histogram for each function the program calls, made at its first call. */
#include "thread/histograms.h"

#include "store/storage.h"

static struct rw_call_histogram *next_histogram(struct rw_thread *thread, unsigned call) {
    struct rw_chunk_header **last =
        thread->histogram_runs; /* those before stay mapped: they are counted in */
    while (*last && (*last)->used == RW_HISTOGRAMS_A_RUN * sizeof(struct rw_call_histogram))
        last++;
    struct rw_chunk_header *run = *last;
    if (!run) {
        run = thread->full || !thread->stored
                  ? NULL
                  : rw_storage_take(RW_CHUNK_HISTOGRAMS, 1, (uint64_t)(last - thread->histogram_runs), NULL);
        if (!run)
            return NULL;
        run->rank_chunk = thread->rank_chunk;
        rw_storage_publish(run);
        *last = run;
    }
    struct rw_call_histogram *histogram = (struct rw_call_histogram *)((char *)(run + 1) + run->used);
    histogram->call = call;
    __atomic_store_n(&run->used, run->used + sizeof *histogram, __ATOMIC_RELEASE);
    return histogram;
}

uint64_t *rw_first_call(struct rw_thread *thread, unsigned call) {
    static uint64_t not_kept[RW_TICK_BINS];
    struct rw_call_total *total = &thread->totals[call];
    if (total->count == 0)
        total->min_ticks = UINT64_MAX;
    struct rw_call_histogram *histogram = next_histogram(thread, call);
    if (!histogram) {
        if (!thread->stored) /* MPI_Init, before there is a file */
            return not_kept;
        return thread->histograms[call] = not_kept;
    }
    return thread->histograms[call] = histogram->bins;
}
