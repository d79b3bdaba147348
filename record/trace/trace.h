/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of events of one thread (formats/recording.h). Every function here is called only if traced.
 *
 * What an event says beside its times is its shape: kind and payload. A wrapper writes it into the thread's
 * buffer between rw_trace_begin() and rw_trace_end(); the coder (trace.c) finds out whether it was to be
 * expected.
 */
#ifndef RANKWISE_RECORD_TRACE_H
#define RANKWISE_RECORD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "thread/thread.h"
#include "trace/numbers.h"

/**
 * @brief What rw_trace_begin() does not do itself: write polls and the gap's processor time out, make room
 * for a long shape, count what is lost.
 * @param begin of the call, 0 if no event of a call follows.
 * @return where the shape goes, or NULL if nothing is traced any more.
 */
RW_HIDDEN unsigned char *rw_trace_prepare(struct rw_thread *thread, uint64_t bytes, uint64_t begin);

/**
 * @brief Begin an event of a call.
 * @param numbers how many numbers the payload has at most.
 * @return where the payload goes, to be ended with rw_trace_end(); NULL if there is no space.
 */
static inline unsigned char *rw_trace_begin(struct rw_thread *thread, unsigned call, uint64_t begin,
                                            uint64_t end, uint64_t numbers) {
    unsigned char *at = thread->shape_buffer;
    const uint64_t bytes = (1 + numbers) * RW_TRACE_NUMBER_BYTES;
    if (RW_UNLIKELY((thread->poll_count | thread->measured_at) || thread->trace_lost ||
                    thread->shape_bytes < bytes))
        at = rw_trace_prepare(thread, bytes, begin);
    thread->event_kind = call;
    thread->event_gap = begin - thread->last_end;
    thread->event_duration = end - begin;
    thread->last_end = end;
    return RW_LIKELY(at != 0) ? rw_put_u(at, call) : at;
}

/** @brief The event's shape ends at `at`: write the event. */
RW_HIDDEN void rw_trace_end(struct rw_thread *thread, unsigned char *at);

/** @brief An event without payload. */
static inline void rw_trace_plain(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end) {
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 0);
    if (at)
        rw_trace_end(thread, at);
}

/** @brief A call that makes a communicator: 1 + index of what it is made of (0: none), whether ranks may
 * change. */
static inline void rw_trace_made(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                                 uint64_t parent, int reorder) {
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 2);
    if (at)
        rw_trace_end(thread, rw_put_u(rw_put_u(at, parent), reorder != 0));
}

/** @brief A test or probe that found nothing; such are summed until the next event. */
static inline void rw_trace_poll(struct rw_thread *thread, uint64_t begin, uint64_t end) {
    const uint64_t gap = begin - thread->last_end;
    thread->last_end = end;
    if (thread->poll_count++) {
        thread->poll_gap += gap;
        thread->poll_ticks += end - begin;
    } else {
        thread->first_poll_gap = gap;
        thread->first_poll_ticks = end - begin;
    }
}

/** @brief What the scheduler did since the last such event. */
RW_HIDDEN void rw_trace_sched(struct rw_thread *thread, uint64_t wait_ns, uint64_t cpu_ns);

/** @brief Write into a run of this many bytes that the caller owns, for a record that is not in the file. */
RW_HIDDEN void rw_trace_into(struct rw_thread *thread, struct rw_chunk_header *run, uint64_t bytes);

/** @brief Give up what the coder remembers, of a record that is not in the file. */
RW_HIDDEN void rw_trace_release(struct rw_thread *thread);

/** @brief Seal the run that is written to, as far as it does not change any more; rw_seal(). */
RW_HIDDEN void rw_trace_seal(struct rw_thread *thread, int closed);

/** @brief Write polls out that no event followed. */
RW_HIDDEN void rw_trace_flush(struct rw_thread *thread);

#endif
