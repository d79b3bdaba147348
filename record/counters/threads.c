/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the threads of the process are: /proc/self/task/TID/stat, once a second. Threads that OpenMP or
 * another runtime makes can share a core while others idle, which no mask of the first thread shows.
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
#define BETWEEN_NS 1000000000u
#define WORDS 128u

enum { LOOKS, READY, CROWDED, COLUMNS };

/* As getdents64 gives them. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static uint64_t counts[COLUMNS], ran_on[WORDS], due_ns;
static uint16_t on_cpu[64 * WORDS]; /* ready threads of this look */

/* The CPU that a thread was on last if it is ready to run, else -1. */
static int ready_on(int directory, const char *tid) {
    char name[32], text[512];
    snprintf(name, sizeof name, "%.16s/stat", tid);
    const int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    /* The name in brackets may hold anything. Behind it: state, and 36 numbers on the CPU (proc(5)). */
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] != 'R')
        return -1;
    for (unsigned field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    const long cpu = at ? strtol(at, NULL, 10) : -1;
    return cpu >= 0 && cpu < (long)(64 * WORDS) ? (int)cpu : -1;
}

static void look(int directory) {
    char entries[4096];
    uint16_t cpus[MOST_LOOKED_AT];
    unsigned ready = 0, looked = 0;
    for (long bytes; (bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0;)
        for (long at = 0; at < bytes;) {
            const struct entry *const one = (const struct entry *)(entries + at);
            at += one->bytes;
            if (one->name[0] < '0' || one->name[0] > '9' || looked++ >= MOST_LOOKED_AT)
                continue;
            const int cpu = ready_on(directory, one->name);
            if (cpu < 0)
                continue;
            on_cpu[cpu]++;
            ran_on[cpu / 64] |= 1ull << (cpu % 64);
            cpus[ready++] = (uint16_t)cpu;
        }
    for (unsigned i = 0; i < ready; i++)
        counts[CROWDED] += on_cpu[cpus[i]] > 1;
    for (unsigned i = 0; i < ready; i++)
        on_cpu[cpus[i]] = 0;
    counts[READY] += ready;
    counts[LOOKS]++;
}

static int open_tasks(void) {
    char path[256];
    rw_root_path(path, sizeof path, "/proc/self/task");
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void open_threads(struct rw_series *series) {
    static const char *const names[] = {"thread_looks", "threads_ready", "threads_crowded", NULL};
    const int tasks = open_tasks();
    if (tasks < 0) {
        rw_note_absent(series, "cores of threads", errno, "/proc/self/task");
        return;
    }
    close(tasks);
    rw_add_each(series, names);
}

static void read_threads(uint64_t *values) {
    const uint64_t now = rw_clock_ns(CLOCK_MONOTONIC);
    /* The first sample is taken in MPI_Init, where a program has not made its threads yet. */
    if (due_ns && now >= due_ns) {
        const int tasks = open_tasks();
        if (tasks >= 0) {
            look(tasks);
            close(tasks);
        }
    }
    if (!due_ns || now >= due_ns)
        due_ns = now + (due_ns ? BETWEEN_NS : 1);
    memcpy(values, counts, sizeof counts);
}

void rw_note_threads_ran_on(struct rw_series *series) {
    if (counts[LOOKS])
        rw_note_pus(series, RW_NOTE_THREADS_RAN_ON, ran_on, WORDS);
}

const struct rw_source rw_threads = {open_threads, read_threads};
