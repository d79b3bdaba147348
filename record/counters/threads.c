/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which threads of the process run, and where: /proc/self/task/TID/stat, every half second. Threads that
 * OpenMP or another runtime makes can share a core while others idle, which no mask of the first thread
 * shows. When this looks, the first thread is in MPI and the others may sleep: those whose processor time has
 * grown since the last look ran.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters/kept.h"
#include "counters/sources.h"
#include "process/ticks.h"

#define MOST_LOOKED_AT 256u
#define BETWEEN_NS 500000000u
#define WORDS 128u
/* Of a processor, so that a thread is one that runs. */
#define LEAST_PART 20u

enum { LOOKS, BUSY, CROWDED, COLUMNS };

/* As getdents64 gives them. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static struct {
    long tid;
    uint64_t used;       /* clock ticks */
} known[MOST_LOOKED_AT]; /* at the last look */
static unsigned known_count;
static uint64_t counts[COLUMNS], ran_on[WORDS], due_ns, looked_ns, clock_tick_ns;
static uint16_t on_cpu[64 * WORDS]; /* threads that run, of this look */

/* Of a thread: the processor time that it has used, and the CPU that it was on last. @return 0, or -1 */
static int read_thread(int directory, const char *tid, uint64_t *used, unsigned *cpu) {
    char name[32], text[512];
    uint64_t fields[40] = {0};
    snprintf(name, sizeof name, "%.16s/stat", tid);
    const int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    /* The name in brackets may hold anything; the state is behind it, field 3 of proc(5). */
    const char *at = strrchr(text, ')');
    for (unsigned field = 3; at && field < 40; field++) {
        at = strchr(at + 1, ' ');
        fields[field] = at && field > 3 ? strtoull(at + 1, NULL, 10) : 0;
    }
    *used = fields[14] + fields[15];
    *cpu = (unsigned)fields[39];
    return at && fields[39] < 64 * WORDS ? 0 : -1;
}

static uint64_t used_before(long tid) {
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].tid == tid)
            return known[i].used;
    return 0; /* it is new: all of it is since then */
}

static void count(const unsigned *cpus, unsigned busy) {
    for (unsigned i = 0; i < busy; i++)
        counts[CROWDED] += on_cpu[cpus[i]] > 1;
    for (unsigned i = 0; i < busy; i++)
        on_cpu[cpus[i]] = 0;
    counts[BUSY] += busy;
    counts[LOOKS]++;
}

static void look(int directory, uint64_t now_ns) {
    char entries[4096];
    unsigned cpus[MOST_LOOKED_AT], busy = 0, there = 0;
    static __typeof__(known[0]) now[MOST_LOOKED_AT];
    const uint64_t least = (now_ns - looked_ns) / LEAST_PART / clock_tick_ns + 1;
    for (long bytes; (bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0;)
        for (long at = 0; at < bytes;) {
            const struct entry *const one = (const struct entry *)(entries + at);
            unsigned cpu;
            at += one->bytes;
            if (one->name[0] < '0' || one->name[0] > '9' || there == MOST_LOOKED_AT)
                continue;
            now[there].tid = strtol(one->name, NULL, 10);
            if (read_thread(directory, one->name, &now[there].used, &cpu) != 0)
                continue;
            const uint64_t grown = now[there].used - used_before(now[there].tid);
            there++;
            if (!looked_ns || grown < least)
                continue;
            on_cpu[cpu]++;
            ran_on[cpu / 64] |= 1ull << (cpu % 64);
            cpus[busy++] = cpu;
        }
    memcpy(known, now, sizeof known);
    known_count = there;
    if (looked_ns)
        count(cpus, busy);
    looked_ns = now_ns;
}

static int open_tasks(void) {
    char path[256];
    rw_root_path(path, sizeof path, "/proc/self/task");
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void open_threads(struct rw_series *series) {
    static const char *const names[] = {"thread_looks", "threads_busy", "threads_crowded", NULL};
    const int tasks = open_tasks();
    if (tasks < 0) {
        rw_note_absent(series, "cores of threads", errno, "/proc/self/task");
        return;
    }
    close(tasks);
    const long per_s = sysconf(_SC_CLK_TCK);
    clock_tick_ns = 1000000000u / (uint64_t)(per_s > 0 ? per_s : 100);
    rw_add_each(series, names);
}

static void read_threads(uint64_t *values) {
    const uint64_t now = rw_clock_ns(CLOCK_MONOTONIC);
    if (now >= due_ns) {
        const int tasks = open_tasks();
        if (tasks >= 0) {
            look(tasks, now);
            close(tasks);
        }
        due_ns = now + BETWEEN_NS;
    }
    memcpy(values, counts, sizeof counts);
}

void rw_note_threads_ran_on(struct rw_series *series) {
    if (counts[LOOKS])
        rw_note_pus(series, RW_NOTE_THREADS_RAN_ON, ran_on, WORDS);
}

const struct rw_source rw_threads = {open_threads, read_threads};
