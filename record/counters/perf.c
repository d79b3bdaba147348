/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of the kernel's perf_event, of all threads of the process: each thread that is there when counting
 * begins, and the threads that these make (not processes). Where there are more counters than the processor
 * has, they take turns; enabled and running times say for how long each really counted.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters/kept.h"
#include "counters/perf_events.h"
#include "counters/seccomp.h"
#include "counters/sources.h"

#define MOST_EVENTS 16u
#define MOST_THREADS 16u
#define MOST_DESCRIPTORS 64u

/* In every recording: what the kernel counts itself, then what most processors count. */
static const char default_list[] =
    "task-clock,page-faults,context-switches,cpu-migrations,cycles,instructions,"
    "cache-misses,l2-misses,memory-stalls,resource-stalls,stalled-cycles-frontend,stalled-cycles-backend";

static struct {
    struct {
        int file; /* -1: none for this thread */
        uint64_t id;
    } of[MOST_THREADS];
} counters[MOST_EVENTS];
static unsigned events, threads, descriptors;
static int counts_migrations;
static pid_t tids[MOST_THREADS];

static int open_event(struct perf_event_attr *event, pid_t tid) {
    return (int)syscall(SYS_perf_event_open, event, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Kernels before 5.13 do not know `inherit_thread`: the processes that are forked count there as well. */
static int open_for(struct perf_event_attr *event, pid_t tid) {
    int file = open_event(event, tid);
    if (file < 0 && (errno == EINVAL || errno == E2BIG) && event->inherit_thread) {
        event->inherit_thread = 0;
        file = open_event(event, tid);
    }
    return file;
}

/* What happens only in the kernel cannot be counted without it. */
static int is_of_the_kernel(const struct perf_event_attr *event) {
    return event->type == PERF_TYPE_SOFTWARE &&
           (event->config == PERF_COUNT_SW_CONTEXT_SWITCHES || event->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static void find_threads(struct rw_series *series) {
    DIR *tasks = opendir("/proc/self/task");
    unsigned there = 0;
    threads = 0;
    for (struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        const long tid = strtol(entry->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        there++;
        if (threads < MOST_THREADS)
            tids[threads++] = (pid_t)tid;
    }
    if (tasks)
        closedir(tasks);
    if (!threads) {
        tids[0] = (pid_t)syscall(SYS_gettid);
        threads = 1;
    }
    if (there > threads)
        rw_note_absent(series, "counters of threads", 0,
                       "more than 16 threads were there when MPI_Init ended");
}

/* errno, for a person who may change something. */
static const char *reason(int error) {
    static char text[160];
    static struct rw_reader reader;
    struct rw_kept setting;
    uint64_t level = 0;
    if (error != EACCES && error != EPERM)
        return NULL;
    if (rw_keep(&setting, "/proc/sys/kernel/perf_event_paranoid") != 0)
        return "the kernel has no perf_event";
    const int read = rw_read_again(&reader, &setting) == 0;
    const int negative = read && rw_peek(&reader) == '-';
    reader.at += negative;
    if (read && rw_number(&reader, &level))
        snprintf(text, sizeof text, "perf_event_paranoid is %s%llu", negative ? "-" : "",
                 (unsigned long long)level);
    rw_drop(&setting);
    return text;
}

static int keep_counter(struct rw_series *series, const char *name, struct perf_event_attr *event) {
    int opened = 0, error = 0;
    event->inherit = event->inherit_thread = 1;
    event->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    for (unsigned thread = 0; thread < threads; thread++) {
        counters[events].of[thread].file = -1;
        if (descriptors >= MOST_DESCRIPTORS) {
            error = EMFILE;
            continue;
        }
        int file = open_for(event, tids[thread]);
        if (file < 0 && (errno == EACCES || errno == EPERM) && !event->exclude_kernel &&
            !is_of_the_kernel(event)) {
            event->exclude_kernel = 1;
            file = open_for(event, tids[thread]);
        }
        if (file < 0) {
            if (errno != ESRCH) /* that thread has ended */
                error = errno;
            continue;
        }
        file = rw_out_of_the_way(file);
        uint64_t id = 0;
        if (file < 0 || ioctl(file, PERF_EVENT_IOC_ID, &id) != 0) {
            error = file < 0 ? EMFILE : errno;
            if (file >= 0)
                close(file);
            continue;
        }
        counters[events].of[thread].file = file;
        counters[events].of[thread].id = id;
        descriptors++;
        opened++;
    }
    if (opened == 0) {
        rw_note_absent(series, name, error, reason(error));
        return 0;
    }
    if (error)
        rw_note_absent(series, name, error, "of some threads only");
    if (event->exclude_kernel) {
        char text[160];
        snprintf(text, sizeof text, "user_only:%s", name);
        rw_note_fact(series, text, 1);
    }
    return 1;
}

static void open_perf(struct rw_series *series) {
    const char *asked = getenv("RANKWISE_COUNTERS");
    char list[2048], text[160], *rest = list;
    snprintf(list, sizeof list, "%s", asked && asked[0] ? asked : default_list);
    if (strcmp(list, "none") == 0)
        return;
    const char *const forbidden = rw_perf_kills();
    find_threads(series);
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        struct perf_event_attr event;
        if (!name[0])
            continue;
        snprintf(text, sizeof text, "counter:%s", name);
        const char *why = events < MOST_EVENTS ? rw_perf_event(name, &event) : "more than 16 were asked for";
        if (why)
            rw_note_absent(series, text, 0, why);
        else if (forbidden)
            rw_note_absent(series, text, EPERM, forbidden);
        else if (keep_counter(series, text, &event)) {
            rw_add_columns(series, "counter", name, 3); /* value, enabled ns, running ns */
            counts_migrations |=
                event.type == PERF_TYPE_SOFTWARE && event.config == PERF_COUNT_SW_CPU_MIGRATIONS;
            events++;
        }
    }
}

int rw_perf_counts_migrations(void) {
    return counts_migrations;
}

/* A program that closes descriptors may have another file of this number by now: only its own counter has the
 * id. */
static int read_counter(int file, uint64_t id, uint64_t got[3]) {
    uint64_t now = 0;
    return file >= 0 && ioctl(file, PERF_EVENT_IOC_ID, &now) == 0 && now == id &&
           read(file, got, 3 * sizeof *got) == 3 * sizeof *got;
}

static void read_perf(uint64_t *values) {
    for (unsigned event = 0; event < events; event++) {
        uint64_t sum[3] = {0}, got[3];
        unsigned found = 0, lost = 0;
        for (unsigned thread = 0; thread < threads; thread++) {
            const int file = counters[event].of[thread].file;
            if (file < 0)
                continue;
            if (!read_counter(file, counters[event].of[thread].id, got)) {
                lost++;
                continue;
            }
            for (unsigned i = 0; i < 3; i++)
                sum[i] += got[i];
            found++;
        }
        if (found && !lost)
            memcpy(values + 3 * event, sum, sizeof sum);
    }
}

const struct rw_source rw_perf = {open_perf, read_perf};
