/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done every 10 ms or so, between two calls: clocks, what the scheduler did, checksums. */
#include "lifetime/sample.h"

#include "counters/counters.h"
#include "lifetime/seals.h"
#include "network/network.h"
#include "process/process.h"
#include "process/schedstat.h"
#include "thread/current.h"
#include "thread/gaps.h"
#include "trace/trace.h"

static void sample(struct rw_thread *thread, uint64_t now) {
    struct rw_rank *rank = thread->rank;
    rw_relate_clocks(rank);
    uint64_t elapsed_ns = rank->last_monotonic_ns - rank->first_monotonic_ns;
    if (elapsed_ns > RW_SAMPLE_INTERVAL_NS / 10)
        thread->sample_interval = (uint64_t)((double)(rank->last_ticks - rank->first_ticks) /
                                             (double)elapsed_ns * RW_SAMPLE_INTERVAL_NS);
    thread->sample_due = now + thread->sample_interval;
    uint64_t cpu_ns, wait_ns;
    if (thread->schedstat_missing || rw_read_schedstat(&cpu_ns, &wait_ns) != 0) {
        thread->schedstat_missing = 1;
        thread->shares_core = 0;
        return;
    }
    uint64_t cpu = cpu_ns - thread->schedstat_cpu_ns, wait = wait_ns - thread->schedstat_wait_ns;
    thread->schedstat_cpu_ns = cpu_ns;
    thread->schedstat_wait_ns = wait_ns;
    rank->cpu_ns += cpu;
    rank->runqueue_wait_ns += wait;
    rank->schedstat_samples++;
    thread->shares_core = thread->timed && wait > cpu / 64;
    if (thread->traced)
        rw_trace_sched(thread, wait, cpu);
}

/* A call has ended: the trace begins before the first wanted one and ends behind the last. */
static void pass_window(struct rw_thread *thread, uint64_t now) {
    const uint64_t calls = ++thread->calls_seen;
    if (calls + 1 == rw_process.first_call) {
        thread->traced = 1;
        thread->last_end = now;
    }
    if (calls < rw_process.last_call)
        return;
    rw_trace_flush(thread);
    thread->traced = 0;
    thread->windowed = 0;
}

void rw_sample(struct rw_thread *thread, uint64_t now) {
    const int by_time = thread->timed || thread->windowed;
    if (RW_UNLIKELY(rw_process.finished)) {
        rw_seal(thread, 1);
        return;
    }
    if (RW_UNLIKELY(thread->windowed))
        pass_window(thread, now);
    if (now >= thread->sample_due || !by_time) {
        uint64_t begin = rw_ticks();
        sample(thread, now);
        rw_counters_sample(thread);
        rw_network_grow(thread);
        rw_seal_when_due(thread);
        thread->rank->recorder_ticks += rw_ticks() - begin;
    }
    rw_await_gap(thread, now);
    thread->next_sample = thread->windowed ? 0 : rw_next_await(thread);
}
