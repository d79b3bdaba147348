/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters/counters.h"

#include <stdlib.h>
#include <string.h>

#include "counters/node.h"
#include "counters/sources.h"

#define DEFAULT_INTERVAL_NS 100000000u
#define LEAST_ROWS 64u

static const struct rw_source *const sources[] = {&rw_usage, &rw_where, &rw_perf, &rw_migrations,
                                                  &rw_threads};
#define SOURCES (sizeof sources / sizeof *sources)

static struct rw_series series;
static struct rw_thread *sampled; /* the first thread; NULL: nothing is sampled */
static unsigned first_column[SOURCES + 1];
static uint64_t begun, due; /* ticks: the first sample, the next one */

/* RANKWISE_SAMPLES: milliseconds, or `off`. */
static uint64_t asked_ns(void) {
    const char *value = getenv("RANKWISE_SAMPLES");
    if (value && strcmp(value, "off") == 0)
        return 0;
    const unsigned long long ms = value ? strtoull(value, NULL, 10) : 0;
    return ms ? ms * 1000000u : DEFAULT_INTERVAL_NS;
}

static void take(uint64_t begin) {
    rw_series_clear(&series);
    for (unsigned i = 0; i < SOURCES; i++)
        if (first_column[i] < first_column[i + 1])
            sources[i]->read(series.values + first_column[i]);
    rw_series_append(&series, begin);
    const uint64_t end = rw_ticks();
    due = rw_series_next(&series, begin, end);
    series.samples->cost_ticks += end - begin;
}

void rw_counters_start(struct rw_thread *thread) {
    if (sampled || !thread->rank_run)
        return;
    if (rw_series_begin(&series, RW_CHUNK_NOTES, thread->rank_chunk) != 0)
        return;
    for (unsigned i = 0; i < SOURCES; i++) {
        first_column[i] = series.columns;
        sources[i]->open(&series);
    }
    first_column[SOURCES] = series.columns;
    rw_note_devices(&series, 1);
    if (rw_series_open(&series, RW_CHUNK_SAMPLES, thread->rank_chunk, LEAST_ROWS, NULL) != 0)
        return;
    series.samples->asked_ns = asked_ns();
    series.samples->interval_ticks = UINT64_MAX; /* the rate of the ticks is not known yet */
    sampled = thread;
    rw_node_start(thread, series.samples->asked_ns);
    begun = rw_ticks();
    take(begun);
    due = series.samples->asked_ns ? 0 : UINT64_MAX;
    series.samples->cost_ticks = 0;
}

void rw_counters_note(enum rw_note_kind kind, uint32_t count, const char *text) {
    if (sampled)
        rw_note(&series, kind, count, text);
}

void rw_counters_set_aside(const struct rw_thread *thread, uint64_t ticks) {
    if (thread == sampled)
        series.samples->aside_ticks += ticks;
}

void rw_counters_sample(struct rw_thread *thread) {
    if (thread != sampled)
        return;
    rw_look_where();
    rw_node_sample(thread->rank);
    const uint64_t now = thread->rank->last_ticks;
    if (now < due)
        return;
    struct rw_samples *const samples = series.samples;
    if (samples->interval_ticks == UINT64_MAX) {
        const struct rw_rank *rank = thread->rank;
        const uint64_t elapsed_ns = rank->last_monotonic_ns - rank->first_monotonic_ns;
        if (elapsed_ns < samples->asked_ns / 4)
            return;
        samples->interval_ticks = (uint64_t)((double)(rank->last_ticks - rank->first_ticks) /
                                             (double)elapsed_ns * (double)samples->asked_ns);
        due = begun + samples->interval_ticks;
        if (now < due)
            return;
    }
    take(now);
}

void rw_counters_end(struct rw_thread *thread) {
    if (thread != sampled)
        return;
    const uint64_t cost = series.samples->cost_ticks;
    take(rw_ticks());
    rw_note_ran_on(&series);
    rw_note_threads_ran_on(&series);
    rw_note_memory(&series);
    rw_note_devices(&series, 0);
    rw_node_end();
    series.samples->cost_ticks = cost;
}

void rw_counters_seal(struct rw_thread *thread, int closed) {
    if (thread == sampled)
        rw_series_seal(&series, closed);
}
