/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cores the first thread may use and was seen on. Runtimes and libraries change the mask while the
 * program runs (OpenMP, OpenBLAS, launchers' own agents), so it is asked for every 10 ms (0.4 us), and every
 * change is noted.
 */
#include <sched.h>
#include <string.h>

#include "counters/sources.h"
#include "process/affinity.h"
#include "thread/current.h"
#include "thread/sites.h"

#define WORDS 128u /* as rw_rank.affinity */

static uint64_t allowed[WORDS], ran_on[WORDS];
static int last_cpu = -1;
static uint64_t moves; /* how often it was seen on another CPU than before */
static struct rw_series *noted_in;
static const struct rw_mask_setter *setter;
static uint64_t calls_known; /* of the setter's */

void rw_where_prepare(const struct rw_mask_setter *of_shim) {
    setter = of_shim;
}

static void note_setter(int was_called) {
    const char *path = "";
    if (was_called)
        path = rw_file_of_code(__atomic_load_n(&setter->caller, __ATOMIC_RELAXED));
    if (path && setter)
        rw_note(noted_in, RW_NOTE_SET_BY, 0, path);
}

/* A mask that came and went in between is not seen; who set that did not set the next one, nor the first:
 * libraries bind a thread for a moment to look at the cores. */
static void look_at_mask(void) {
    uint64_t now[WORDS];
    memset(now, 0, sizeof now);
    const uint64_t calls = setter ? __atomic_load_n(&setter->calls, __ATOMIC_ACQUIRE) : 0;
    const int was_called = calls != calls_known;
    if (sched_getaffinity(0, sizeof now, (cpu_set_t *)now) != 0)
        return;
    calls_known = calls;
    if (memcmp(now, allowed, sizeof now) == 0)
        return;
    const uint64_t none[WORDS] = {0};
    const int is_first = memcmp(allowed, none, sizeof none) == 0;
    memcpy(allowed, now, sizeof now);
    rw_note_pus(noted_in, RW_NOTE_ALLOWED, allowed, WORDS);
    if (!is_first)
        note_setter(was_called);
}

static void open_where(struct rw_series *series) {
    static const char *const names[] = {"cpu", "on_core_ns", "runqueue_wait_ns", "moves_seen", NULL};
    rw_add_each(series, names);
    noted_in = series;
    look_at_mask();
}

void rw_look_where(void) {
    const int cpu = sched_getcpu();
    if (cpu >= 0 && (unsigned)cpu < 64 * WORDS)
        ran_on[cpu / 64] |= 1ull << (cpu % 64);
    moves += last_cpu >= 0 && cpu >= 0 && cpu != last_cpu;
    last_cpu = cpu >= 0 ? cpu : last_cpu;
    look_at_mask();
}

static void read_where(uint64_t *values) {
    const int cpu = sched_getcpu();
    const struct rw_thread *thread = rw_self ? rw_self : rw_current();
    rw_look_where();
    if (cpu >= 0)
        values[0] = (uint64_t)cpu;
    if (!thread->schedstat_missing) {
        values[1] = thread->rank->cpu_ns;
        values[2] = thread->rank->runqueue_wait_ns;
    }
    values[3] = moves;
}

void rw_note_ran_on(struct rw_series *series) {
    if (series->dropped_notes)
        rw_note_fact(series, "dropped_notes", series->dropped_notes);
    rw_note_pus(series, RW_NOTE_RAN_ON, ran_on, WORDS);
}

const struct rw_source rw_where = {open_where, read_where};
