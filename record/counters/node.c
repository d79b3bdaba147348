/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters/node.h"

#include <unistd.h>

#include "counters/snapshot.h"
#include "counters/sources.h"
#include "store/storage.h"

#define LEAST_ROWS 64u
/* A rank that began a sample and did not end it within this many intervals has died, or has no core. */
#define PATIENCE 16u
/* Others wait so many intervals for the one that took the last sample: it has its files open. */
#define TURN 2u
/* Copies before the end, for runs that do not come to it: when so much has passed since MPI_Init, at least so
 * many times what a copy takes, and after each when as much again has passed. So they cost less than 1/1000,
 * and say of at least half of the run what happened. */
#define FIRST_COPY_NS 1000000000u
#define COPY_PART 1000u
#define UNKNOWN_COPY_NS 5000000u

/* The dearest last: what it may cost is what the others leave. */
static const struct rw_source *const sources[] = {
    &rw_cpu_times, &rw_interfaces, &rw_tcp, &rw_ports, &rw_uncore, &rw_softnet, &rw_softirqs, &rw_interrupts};
#define SOURCES (sizeof sources / sizeof *sources)

static struct rw_series series;
static struct rw_file_header *head; /* NULL: this rank takes no part */
static unsigned first_column[SOURCES + 1];
static int counted, ended;       /* in ranks_running; no longer */
static uint64_t asked, interval; /* ns, ticks; 0: not known yet */
static uint64_t cost_ns[SOURCES], counting_since_ns, spent_ns;
static uint64_t copy_ns = UNKNOWN_COPY_NS, next_copy_ns = FIRST_COPY_NS;

static void open_sources(void) {
    for (unsigned i = 0; i < SOURCES; i++) {
        first_column[i] = series.columns;
        sources[i]->open(&series);
    }
    first_column[SOURCES] = series.columns;
}

/* Take what another rank has prepared. It sees the same files, or it has other columns: containers, name
 * spaces. */
static int join(void) {
    const uint64_t state = __atomic_load_n(&head->node_samples, __ATOMIC_ACQUIRE);
    if (state < 2)
        return 0;
    if (!series.samples_run) {
        struct rw_chunk_header *run = rw_storage_map((uint32_t)(state - 2));
        if (!run || rw_series_values(&series) != 0 ||
            ((struct rw_samples *)(run + 1))->columns_crc != series.columns_crc) {
            head = NULL;
            return 0;
        }
        rw_series_join(&series, run);
    }
    return 1;
}

/*
 * Sources cost 1/RW_SAMPLES_MOST_PART of the time together, by the processor time of this thread: one that
 * costs more than what is left of that is not in this row. On a node of a thousand cores /proc/interrupts
 * takes a hundred times as long as the others.
 */
static int affordable(unsigned source) {
    return spent_ns + cost_ns[source] <=
           (rw_clock_ns(CLOCK_MONOTONIC) - counting_since_ns) / RW_SAMPLES_MOST_PART;
}

static void read_source(unsigned source) {
    const uint64_t begin = rw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sources[source]->read(series.values + first_column[source]);
    const uint64_t cost = rw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    /* The first time it opens files, too: most of that does not come again. */
    const int first = !cost_ns[source];
    spent_ns += first ? 0 : cost;
    cost_ns[source] = first ? cost / 4 + 1 : cost;
}

static void leave_out(unsigned source) {
    for (unsigned column = first_column[source]; column < first_column[source + 1]; column++)
        series.values[column] = RW_NOT_READ;
}

/* One row, in which all sources are, or those that can be afforded; without any there is none. */
static void take(uint64_t begin, int all) {
    int any = 0;
    if (series.samples_run->seal & RW_SEAL_CLOSED) /* by a job of the same recording that has ended */
        rw_storage_seal(series.samples_run, 0, 0);
    rw_series_clear(&series);
    for (unsigned i = 0; i < SOURCES; i++) {
        const int now = first_column[i] < first_column[i + 1] && (all || affordable(i));
        any |= now;
        if (now)
            read_source(i);
        else
            leave_out(i);
    }
    if (any)
        rw_series_append(&series, begin);
    __atomic_store_n(&head->node_sampler, (uint64_t)getpid(), __ATOMIC_RELAXED);
    const uint64_t next = series.samples->interval_ticks;
    __atomic_store_n(&head->node_due, next < UINT64_MAX / 2 ? begin + next : UINT64_MAX, __ATOMIC_RELEASE);
    series.samples->cost_ticks += rw_ticks() - begin;
}

static void prepare(const struct rw_thread *thread) {
    uint32_t first_chunk = 0;
    if (rw_series_begin(&series, RW_CHUNK_NODE_NOTES, thread->rank_chunk) != 0)
        return;
    open_sources();
    if (rw_series_open(&series, RW_CHUNK_NODE_SAMPLES, thread->rank_chunk, LEAST_ROWS, &first_chunk) != 0)
        return;
    series.samples->asked_ns = asked;
    series.samples->interval_ticks = UINT64_MAX;
    take(rw_ticks(), 1);
    spent_ns = 0; /* before MPI_Init returns */
    series.samples->cost_ticks = 0;
    __atomic_store_n(&head->node_due, asked ? 0 : UINT64_MAX, __ATOMIC_RELEASE);
    rw_series_seal(&series, 0);
    __atomic_store_n(&head->node_samples, 2 + (uint64_t)first_chunk, __ATOMIC_RELEASE);
}

/* One in MPI_Init or MPI_Finalize, unless another rank takes one: cost_ticks are between these. */
static void take_outside(void) {
    uint64_t due = __atomic_load_n(&head->node_due, __ATOMIC_ACQUIRE);
    if (!join() || !__atomic_compare_exchange_n(&head->node_due, &due, UINT64_MAX, 0, __ATOMIC_ACQ_REL,
                                                __ATOMIC_RELAXED))
        return;
    const uint64_t cost = series.samples->cost_ticks;
    take(rw_ticks(), 1);
    series.samples->cost_ticks = cost;
}

void rw_node_start(const struct rw_thread *thread, uint64_t asked_ns) {
    uint64_t nobody = 0;
    head = rw_storage_head();
    asked = asked_ns;
    if (!head)
        return;
    counted = 1;
    counting_since_ns = rw_clock_ns(CLOCK_MONOTONIC);
    const uint64_t running = __atomic_fetch_add(&head->ranks_running, 1, __ATOMIC_ACQ_REL);
    if (__atomic_compare_exchange_n(&head->node_samples, &nobody, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        const uint64_t begin = rw_clock_ns(CLOCK_MONOTONIC);
        rw_snapshot(".start.tar", 0);
        copy_ns = rw_clock_ns(CLOCK_MONOTONIC) - begin;
        prepare(thread);
        return;
    }
    /* Names and numbers as they are now, so that they are the same in all ranks. */
    open_sources();
    if (running == 0) /* another job of the same recording has ended */
        take_outside();
}

/* The rate of the ticks is not known before the first samples. */
static uint64_t known_interval(const struct rw_rank *rank) {
    const uint64_t elapsed_ns = rank->last_monotonic_ns - rank->first_monotonic_ns;
    if (!interval && elapsed_ns >= asked / 4)
        interval =
            (uint64_t)((double)(rank->last_ticks - rank->first_ticks) / (double)elapsed_ns * (double)asked);
    return interval;
}

static void copy_meanwhile(const struct rw_rank *rank) {
    const uint64_t elapsed_ns = rank->last_monotonic_ns - rank->first_monotonic_ns;
    if (elapsed_ns < next_copy_ns || elapsed_ns < COPY_PART * copy_ns)
        return;
    const uint64_t begin = rw_ticks(), begin_ns = rw_clock_ns(CLOCK_MONOTONIC);
    rw_snapshot(".end.tar", 1);
    copy_ns = rw_clock_ns(CLOCK_MONOTONIC) - begin_ns;
    next_copy_ns = 2 * elapsed_ns;
    series.samples->cost_ticks += rw_ticks() - begin;
}

void rw_node_sample(const struct rw_rank *rank) {
    if (!head || ended || !asked || !known_interval(rank))
        return;
    const uint64_t now = rank->last_ticks;
    uint64_t due = __atomic_load_n(&head->node_due, __ATOMIC_ACQUIRE);
    const int mine = __atomic_load_n(&head->node_sampler, __ATOMIC_RELAXED) == (uint64_t)getpid();
    if (!mine)
        rw_uncore_rest();
    if (now < due || (!mine && now - due < TURN * interval) || !join())
        return;
    if (series.samples->interval_ticks == UINT64_MAX) {
        series.samples->interval_ticks = interval;
        if (now < rank->first_ticks + interval)
            return;
    }
    /* One of them: whoever dies now is waited for. */
    if (__atomic_compare_exchange_n(&head->node_due, &due, now + PATIENCE * interval, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
        take(now, 0);
        copy_meanwhile(rank);
    }
}

/* Nobody writes to it any more; the last rank may see other files than those that sampled. */
static void close_run(void) {
    const uint64_t state = __atomic_load_n(&head->node_samples, __ATOMIC_ACQUIRE);
    struct rw_chunk_header *run = series.samples_run;
    __atomic_store_n(&head->node_due, UINT64_MAX, __ATOMIC_RELEASE);
    if (!run && state >= 2)
        run = rw_storage_map((uint32_t)(state - 2));
    if (run)
        rw_storage_seal(run, run->used, 1);
}

void rw_node_end(void) {
    struct rw_file_header *const file = rw_storage_head();
    if (!counted || ended)
        return;
    ended = 1;
    const int mine = head && __atomic_load_n(&head->node_sampler, __ATOMIC_RELAXED) == (uint64_t)getpid();
    if (mine)
        take_outside();
    if (__atomic_sub_fetch(&file->ranks_running, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    rw_snapshot(".end.tar", 0);
    if (head && !mine)
        take_outside();
    head = file;
    close_run();
}
