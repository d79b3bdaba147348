/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of what a thread writes to (formats/recording.h, "Checksums"), at points where nothing of it is
 * half done: between two calls, about once a second, and around the end of MPI_Finalize.
 */
#include "lifetime/seals.h"

#include "counters/counters.h"
#include "handles/communicators.h"
#include "network/network.h"
#include "process/process.h"
#include "store/storage.h"
#include "thread/sites.h"
#include "thread/tables.h"
#include "thread/thread.h"
#include "trace/trace.h"

/* Samples between two times, 1 s; and not more than 1/1000 of the time, where there is much to read. */
#define SAMPLES_BETWEEN 100u
#define TIMES_BETWEEN 1000u

static void seal_table(struct rw_chunk_header *run, uint64_t entry_bytes, int closed) {
    if (run)
        rw_storage_seal(run, run->used * entry_bytes, closed);
}

void rw_seal(struct rw_thread *thread, int closed) {
    if (!thread->rank_run)
        return;
    seal_table(thread->peer_run, sizeof(struct rw_peer_entry), closed);
    seal_table(thread->collective_run, sizeof(struct rw_collective_entry), closed);
    rw_settle_site(thread);
    seal_table(thread->site_run, sizeof(struct rw_site_entry), closed);
    for (unsigned i = 0; i < RW_HISTOGRAM_RUNS; i++)
        seal_table(thread->histogram_runs[i], 1, closed);
    seal_table(thread->module_run, 1, closed);
    if (thread->trace_run)
        rw_trace_seal(thread, closed);
    rw_seal_communicators(thread, closed);
    rw_counters_seal(thread, closed);
    rw_network_seal(thread, closed);
    thread->rank->sealed_ticks = rw_ticks();
    seal_table(thread->rank_run, 1, closed);
}

void rw_seal_when_due(struct rw_thread *thread) {
    const uint64_t begin = rw_ticks();
    if (begin < thread->seal_due)
        return;
    rw_seal(thread, 0);
    const uint64_t end = rw_ticks();
    const uint64_t often = SAMPLES_BETWEEN * thread->sample_interval, rare = TIMES_BETWEEN * (end - begin);
    thread->seal_due = end + (often > rare ? often : rare);
}
