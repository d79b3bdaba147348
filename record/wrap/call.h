/* SPDX-License-Identifier: BSD-3-Clause */
/* What every wrapper does when its call begins and ends. */
#ifndef RANKWISE_RECORD_CALL_H
#define RANKWISE_RECORD_CALL_H

#include "lifetime/sample.h"
#include "thread/gaps.h"
#include "thread/histograms.h"
#include "thread/sites.h"
#include "thread/thread.h"

/* Parameters beyond these are passed on the stack. */
#if defined(__x86_64__)
#define RW_REGISTER_PARAMETERS 6
#else
#define RW_REGISTER_PARAMETERS 8
#endif

/**
 * @brief Whether this call comes from inside another MPI call of the thread, which then stands for it.
 *
 * Stacks grow downwards, so a nested call's frame and its stack parameters lie below the outermost call's
 * frame. If they do not, that call was left by longjmp or an exception and never came back.
 */
static inline int rw_nested(const struct rw_thread *thread, uintptr_t frame, unsigned parameters) {
    const unsigned stacked = parameters > RW_REGISTER_PARAMETERS ? parameters - RW_REGISTER_PARAMETERS : 0;
    return thread->busy != 0 && frame + sizeof(uintptr_t) * stacked < thread->busy;
}

static inline uint64_t rw_enter(struct rw_thread *thread, uintptr_t frame) {
    thread->busy = frame;
    if (RW_UNLIKELY(!thread->timed))
        return 0;
    const uint64_t begin = rw_ticks();
    if (RW_UNLIKELY(begin >= thread->gap_due))
        rw_measure_gap(thread, begin);
    return begin;
}

/** @brief Say in the file which call the thread is in, should it never come back; and that it did. */
static inline void rw_note_progress(struct rw_thread *thread, unsigned call, uint64_t begin) {
    thread->progress->begin_ticks = begin;
    thread->progress->call = call + 1;
}

static inline void rw_clear_progress(struct rw_thread *thread) {
    thread->progress->call = 0;
}

static inline unsigned rw_tick_bin(uint64_t ticks) {
    unsigned bin = 63u - (unsigned)__builtin_clzll(ticks | 1);
    return RW_LIKELY(bin < RW_TICK_BINS) ? bin : RW_TICK_BINS - 1;
}

/* Calls between two samples where there is no time to go by. */
#define RW_UNTIMED_SAMPLE 0x10000u

/** @brief Count and time the call; @return its end, 0 where calls are not timed. */
static inline uint64_t rw_leave(struct rw_thread *thread, unsigned call, uint64_t begin) {
    struct rw_call_total *total = &thread->totals[call];
    if (RW_UNLIKELY(!thread->timed)) {
        if (RW_UNLIKELY(++total->count % RW_UNTIMED_SAMPLE == 0))
            rw_sample(thread, 0);
        if (RW_UNLIKELY(thread->sited))
            rw_count_site(thread, call, 0);
        return 0;
    }
    uint64_t end = rw_ticks(), ticks = end - begin;
    uint64_t *bins = thread->histograms[call];
    if (RW_UNLIKELY(!bins))
        bins = rw_first_call(thread, call);
    bins[rw_tick_bin(ticks)]++;
    total->count++;
    total->ticks += ticks;
    if (ticks > total->max_ticks)
        total->max_ticks = ticks;
    if (ticks < total->min_ticks)
        total->min_ticks = ticks;
    if (RW_UNLIKELY(thread->sited))
        rw_count_site(thread, call, ticks);
    return end;
}

static inline void rw_done(struct rw_thread *thread, uint64_t end) {
    if (RW_UNLIKELY(end >= thread->next_sample))
        rw_sample(thread, end);
    thread->busy = 0;
}

#endif
