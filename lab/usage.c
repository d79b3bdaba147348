/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processors and sleeps did to a rank between MPI_Init and MPI_Finalize: one line of numbers in a file
 * of its own in RANKWISE_LAB_USAGE, written as it enters MPI_Finalize and read by rankwise.lab.usage.
 *
 * A message that comes while its receiver sleeps, or is ready but has no processor, is noticed late: on
 * average by half of the time from when the rank fell asleep to when it looked again. Only the last sleep of
 * a wait does that, so a sleep counts if the looks that follow are interrupted: one that begins later than
 * those that find nothing do has handled a message, or belongs to another wait.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "next.h"
#include "now.h"
#include "usage.h"

enum { FOUND_NOTHING_NS = 10000 };

/* Of the processors that the rank may use, in clock ticks. */
struct processors {
    uint64_t all, busy, protocols, stolen;
};

struct usage {
    int64_t at_ns;
    uint64_t cpu_ns, waited_ns;
    struct processors processors;
};

static struct usage first;
static _Thread_local struct {
    int64_t last_ns, slept_ns, late_ns;
    uint64_t sleeps;
} own;

void rw_count_look(int64_t now_ns) {
    if (own.slept_ns && now_ns - own.last_ns > FOUND_NOTHING_NS) {
        own.late_ns += own.slept_ns / 2;
        own.slept_ns = 0;
    }
    own.last_ns = now_ns;
}

void rw_count_sleep(int64_t began_ns, int64_t ended_ns) {
    own.sleeps++;
    own.slept_ns = ended_ns - began_ns;
    own.last_ns = ended_ns;
}

static void read_processors(struct processors *sum) {
    cpu_set_t mine;
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) {
        char line[512];
        unsigned pu;
        uint64_t user, nice, system, idle, iowait, irq, softirq, stolen;
        while (fgets(line, sizeof line, file)) {
            if (sscanf(line,
                       "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %" SCNu64 " %" SCNu64,
                       &pu, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &stolen) != 9 ||
                pu >= CPU_SETSIZE || !CPU_ISSET(pu, &mine))
                continue;
            const uint64_t busy = user + nice + system + irq + softirq + stolen;
            sum->busy += busy;
            sum->all += busy + idle + iowait;
            sum->protocols += irq + softirq;
            sum->stolen += stolen;
        }
    }
    fclose(file);
}

static struct usage usage_now(void) {
    struct usage now = {.at_ns = rw_now_ns()};
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        now.cpu_ns = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file) {
        if (fscanf(file, "%*u %" SCNu64, &now.waited_ns) != 1)
            now.waited_ns = 0;
        fclose(file);
    }
    read_processors(&now.processors);
    return now;
}

static void begin(void) {
    memset(&own, 0, sizeof own);
    first = usage_now();
}

static void tell(void) {
    const char *directory = getenv("RANKWISE_LAB_USAGE");
    const char *node = getenv("RANKWISE_LAB_NODE");
    char path[4096];
    if (!directory || !first.at_ns)
        return;
    const struct usage last = usage_now();
    const int length = snprintf(path, sizeof path, "%s/%s.%d", directory, node ? node : "", getpid());
    if (length >= (int)sizeof path)
        return;
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(file,
            "%" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64
            " %" PRIu64 "\n",
            last.at_ns - first.at_ns, last.cpu_ns - first.cpu_ns, last.waited_ns - first.waited_ns,
            own.sleeps, own.late_ns, last.processors.all - first.processors.all,
            last.processors.busy - first.processors.busy,
            last.processors.protocols - first.processors.protocols,
            last.processors.stolen - first.processors.stolen);
    fclose(file);
    first.at_ns = 0;
}

#define BOUND(name, parameters, before, after)                                                               \
    ENTRY(MPI_, name, parameters, before, after) ENTRY(PMPI_, name, parameters, before, after)

BOUND(Init, 2, (void)0, begin())
BOUND(Init_thread, 4, (void)0, begin())
BOUND(Finalize, 0, tell(), (void)0)
