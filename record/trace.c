/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

#include "storage.h"

/* 256 KiB first, so that short programs leave little, then 1 MiB: allocating one takes well under a millisecond. */
#define FIRST_CHUNKS 4u
#define NEXT_CHUNKS 16u
/* Kept free at a run's end for the last words: polls, then RW_EVENT_LOST with a count of fixed width. */
#define RESERVED_BYTES 128u

void rw_trace_into(struct rw_thread *thread, struct rw_chunk_header *run, uint64_t bytes) {
    thread->trace_run = run;
    thread->trace_at = (unsigned char *)(run + 1);
    thread->trace_limit = (unsigned char *)run + bytes - RESERVED_BYTES;
}

static int next_run(struct rw_thread *thread, uint64_t bytes) {
    uint32_t chunks = thread->trace_runs ? NEXT_CHUNKS : FIRST_CHUNKS;
    uint64_t needed = sizeof(struct rw_chunk_header) + RESERVED_BYTES + bytes;
    if (needed > (uint64_t)chunks * RW_CHUNK_BYTES)
        chunks = (uint32_t)((needed + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES);
    struct rw_chunk_header *run =
        thread->full || !thread->stored ? NULL : rw_storage_take(RW_CHUNK_TRACE, chunks, thread->trace_runs, NULL);
    if (!run) {
        rw_out_of_space(thread);
        return -1;
    }
    run->rank_chunk = thread->rank_chunk;
    rw_storage_publish(run);
    if (thread->trace_run)
        rw_storage_release(thread->trace_run);
    rw_trace_into(thread, run, (uint64_t)chunks * RW_CHUNK_BYTES);
    thread->trace_runs++;
    return 0;
}

static unsigned char *put_polls(struct rw_thread *thread, unsigned char *at) {
    at = rw_put_u(at, RW_EVENT_POLL);
    at = rw_put_u(at, thread->poll_gap);
    at = rw_put_u(at, thread->poll_ticks);
    at = rw_put_u(at, thread->poll_count);
    thread->poll_count = thread->poll_gap = thread->poll_ticks = 0;
    return at;
}

/* From here on events are only counted; the number has a fixed width so that it can be updated where it stands. */
static void count_lost(struct rw_thread *thread) {
    thread->events_lost++;
    if (!thread->trace_run)
        return;
    if (!thread->trace_lost) {
        unsigned char *at = thread->trace_at;
        if (thread->poll_count)
            at = put_polls(thread, at);
        at = rw_put_u(at, RW_EVENT_LOST);
        at = rw_put_u(at, 0);
        at = rw_put_u(at, 0);
        thread->trace_lost = at;
        at += RW_TRACE_NUMBER_BYTES;
        thread->trace_lost[RW_TRACE_NUMBER_BYTES - 1] = 0;
        rw_trace_end(thread, at);
        thread->trace_limit = at; /* no event fits any more */
    }
    for (unsigned i = 0; i < RW_TRACE_NUMBER_BYTES - 1; i++)
        thread->trace_lost[i] = (unsigned char)((thread->events_lost >> 7 * i & 0x7f) | 0x80);
}

unsigned char *rw_trace_room_slow(struct rw_thread *thread, uint64_t bytes) {
    uint64_t wanted = bytes + 4 * RW_TRACE_NUMBER_BYTES; /* with polls before it */
    if (thread->trace_lost ||
        ((uint64_t)(thread->trace_limit - thread->trace_at) < wanted && next_run(thread, wanted) != 0)) {
        count_lost(thread);
        return NULL;
    }
    return thread->poll_count ? put_polls(thread, thread->trace_at) : thread->trace_at;
}

void rw_trace_sched(struct rw_thread *thread, uint64_t wait_ns, uint64_t cpu_ns) {
    uint64_t last_end = thread->last_end;
    unsigned char *at = rw_trace_begin(thread, RW_EVENT_SCHED, last_end, last_end, 2);
    if (!at)
        return;
    at = rw_put_u(at, wait_ns);
    at = rw_put_u(at, cpu_ns);
    rw_trace_end(thread, at);
}

void rw_trace_flush(struct rw_thread *thread) {
    if (!thread->poll_count)
        return;
    unsigned char *at = rw_trace_room_slow(thread, RW_TRACE_NUMBER_BYTES);
    if (at)
        rw_trace_end(thread, at);
}
