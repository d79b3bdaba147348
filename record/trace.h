/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream of events of one thread (formats/recording.h). Every function here is called only if traced. */
#ifndef RANKWISE_RECORD_TRACE_H
#define RANKWISE_RECORD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "thread.h"

/* Bytes that one number takes at most. */
#define RW_TRACE_NUMBER_BYTES 10u

static inline unsigned char *rw_put_u(unsigned char *at, uint64_t value) {
    while (RW_UNLIKELY(value >= 0x80)) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *rw_put_z(unsigned char *at, int64_t value) {
    return rw_put_u(at, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/** @brief Make room for `bytes` in one run, polls written out before. @return where to write, or NULL if none. */
RW_HIDDEN unsigned char *rw_trace_room_slow(struct rw_thread *thread, uint64_t bytes);

/**
 * @brief Begin an event of a call.
 * @param numbers how many numbers the payload has at most.
 * @return where the payload goes, to be ended with rw_trace_end(); NULL if there is no space.
 */
static inline unsigned char *rw_trace_begin(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                                            uint64_t numbers) {
    unsigned char *at = thread->trace_at;
    uint64_t bytes = (3 + numbers) * RW_TRACE_NUMBER_BYTES;
    if (RW_UNLIKELY(thread->poll_count || (uint64_t)(thread->trace_limit - at) < bytes))
        at = rw_trace_room_slow(thread, bytes);
    if (RW_LIKELY(at != 0)) {
        at = rw_put_u(at, call);
        at = rw_put_u(at, begin - thread->last_end);
        at = rw_put_u(at, end - begin);
    }
    thread->last_end = end;
    return at;
}

static inline void rw_trace_end(struct rw_thread *thread, unsigned char *at) {
    thread->trace_at = at;
    __atomic_store_n(&thread->trace_run->used, (uint64_t)(at - (unsigned char *)(thread->trace_run + 1)),
                     __ATOMIC_RELEASE);
}

/** @brief An event without payload. */
static inline void rw_trace_plain(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end) {
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 0);
    if (at)
        rw_trace_end(thread, at);
}

/** @brief A test or probe that found nothing; such are summed until the next event. */
static inline void rw_trace_poll(struct rw_thread *thread, uint64_t begin, uint64_t end) {
    thread->poll_count++;
    thread->poll_gap += begin - thread->last_end;
    thread->poll_ticks += end - begin;
    thread->last_end = end;
}

/** @brief What the scheduler did since the last such event. */
RW_HIDDEN void rw_trace_sched(struct rw_thread *thread, uint64_t wait_ns, uint64_t cpu_ns);

/** @brief Write into a run of this many bytes that the caller owns, for a record that is not in the file. */
RW_HIDDEN void rw_trace_into(struct rw_thread *thread, struct rw_chunk_header *run, uint64_t bytes);

/** @brief Write polls out that no event followed. */
RW_HIDDEN void rw_trace_flush(struct rw_thread *thread);

#endif
