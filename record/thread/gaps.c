/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processor time of gaps between calls, where threads share a core. What schedstat says every 10 ms
 * (sample.c) does not tell gaps from MPI. Asking the system takes about 0.3 us, so it is asked at the end of
 * calls 50 us apart, and at the begin of one only after a gap of 100 us. A thread that has its core to itself
 * asks nothing.
 */
#include "thread/gaps.h"

/* Of the interval between two samples, 10 ms. */
#define BETWEEN_READS 200u
#define SHORTEST_GAP 100u
/* A gap this much shorter than the interval is taken as uninterrupted unless its processor time says
 * otherwise. */
#define SHORT_GAP 10u

static int read_cpu(struct rw_thread *thread, uint64_t at) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) {
        thread->shares_core = 0;
        thread->gap_due = UINT64_MAX;
        return -1;
    }
    thread->cpu_read_at = at;
    thread->cpu_read_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return 0;
}

void rw_await_gap(struct rw_thread *thread, uint64_t end) {
    if (!thread->shares_core || !thread->traced) {
        thread->gap_due = UINT64_MAX;
        return;
    }
    if (thread->gap_due != UINT64_MAX && end - thread->cpu_read_at < thread->sample_interval / BETWEEN_READS)
        return;
    if (read_cpu(thread, end) == 0)
        thread->gap_due = end + thread->sample_interval / SHORTEST_GAP;
}

uint64_t rw_next_await(const struct rw_thread *thread) {
    const uint64_t due = thread->cpu_read_at + thread->sample_interval / BETWEEN_READS;
    return thread->gap_due != UINT64_MAX && due < thread->sample_due ? due : thread->sample_due;
}

void rw_measure_gap(struct rw_thread *thread, uint64_t begin) {
    const uint64_t interval = thread->sample_interval, gap = begin - thread->last_end;
    thread->gap_due = begin + interval / SHORTEST_GAP;
    /* The gap may have begun before what was read, where a call in between left no event. */
    if (gap < interval / SHORTEST_GAP || thread->last_end < thread->cpu_read_at)
        return;
    /* The first interval is a guess, which slow clocks are far from. */
    const uint64_t ticks = begin - thread->rank->first_ticks;
    if (!ticks)
        return;
    const uint64_t since_ns = rw_clock_ns(CLOCK_MONOTONIC) - thread->rank->first_monotonic_ns;
    const double ns_per_tick = (double)since_ns / (double)ticks;
    const double gap_ns = (double)gap * ns_per_tick;
    /* Calls since then took at most 50 us, during which the thread had its core. */
    const double before_ns = (double)(thread->last_end - thread->cpu_read_at) * ns_per_tick;
    const uint64_t last_ns = thread->cpu_read_ns;
    if (read_cpu(thread, begin) != 0)
        return;
    double cpu_ns = (double)(int64_t)(thread->cpu_read_ns - last_ns) - before_ns;
    cpu_ns = cpu_ns < 0 ? 0 : cpu_ns > gap_ns ? gap_ns : cpu_ns;
    if (gap < interval / SHORT_GAP && cpu_ns > gap_ns * 15 / 16)
        return;
    thread->measured_at = begin;
    thread->measured_ns = (uint64_t)cpu_ns;
}
