/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the memory controllers read and wrote, by the CPU that stands for their socket. All ranks look which
 * there are; only the one that samples has them open, as the controllers have few counters. Each counts from
 * when it opened them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/kept.h"
#include "counters/memory_controllers.h"
#include "counters/seccomp.h"
#include "counters/sources.h"

#define MOST_EVENTS 64u
#define MOST_SOCKETS 16u
#define WAYS 2u /* read, written */

static struct rw_controller_event events[MOST_EVENTS];
static struct {
    int file;
    unsigned column; /* of `memory` */
} counted[MOST_EVENTS];
static int sockets[MOST_SOCKETS]; /* the CPU that stands for it, the lowest first */
static unsigned event_count, socket_count, opened;

static int by_number(const void *a, const void *b) {
    const int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* @return how many events are left out */
static unsigned find_sockets(unsigned found) {
    unsigned kept = 0;
    socket_count = 0;
    for (unsigned event = 0; event < found; event++) {
        unsigned socket = 0;
        while (socket < socket_count && sockets[socket] != events[event].cpu)
            socket++;
        if (socket == MOST_SOCKETS)
            continue;
        if (socket == socket_count)
            sockets[socket_count++] = events[event].cpu;
        events[kept++] = events[event];
    }
    event_count = kept;
    /* Directories have no order that would be the same in all ranks. */
    qsort(sockets, socket_count, sizeof *sockets, by_number);
    for (unsigned event = 0; event < event_count; event++)
        for (unsigned socket = 0; socket < socket_count; socket++)
            if (sockets[socket] == events[event].cpu)
                counted[event].column = socket * WAYS + events[event].way;
    return found - kept;
}

static void open_uncore(struct rw_series *series) {
    char path[512], text[32];
    int unknown = 0;
    rw_root_path(path, sizeof path, "/sys/bus/event_source/devices");
    const int found = rw_find_controller_events(path, events, MOST_EVENTS, &unknown);
    int error = found < 0 ? errno : 0;
    const char *why = found < 0 ? "/sys/bus/event_source/devices"
                      : unknown ? "the kernel does not say what a PMU of a memory controller counts, or how"
                                : "no PMU of a memory controller in /sys/bus/event_source/devices";
    if (found > 0 && !unknown) {
        const char *const kills = rw_perf_kills();
        const int file = kills ? -1 : rw_open_controller_event(&events[0]);
        error = file < 0 ? kills ? EPERM : errno : 0;
        why = kills ? kills : "counters of all programs";
        if (file >= 0)
            close(file);
    }
    if (found <= 0 || unknown || error) {
        rw_note_absent(series, "memory bandwidth", error, why);
        event_count = 0;
        return;
    }
    const unsigned sampled = (unsigned)found < MOST_EVENTS ? (unsigned)found : MOST_EVENTS;
    if (find_sockets(sampled) || (unsigned)found > sampled)
        rw_note_absent(series, "memory bandwidth of more controllers", 0, "only 64 counters are sampled");
    for (unsigned socket = 0; socket < socket_count; socket++) {
        snprintf(text, sizeof text, "%d", sockets[socket]);
        rw_add_columns(series, "memory", text, WAYS);
    }
    rw_add_columns(series, "memory_sampler", NULL, 1);
}

static void read_uncore(uint64_t *values) {
    double sums[MOST_SOCKETS * WAYS] = {0};
    int known[MOST_SOCKETS * WAYS];
    for (unsigned at = 0; at < MOST_SOCKETS * WAYS; at++)
        known[at] = -1; /* no such event */
    for (unsigned event = 0; event < event_count; event++) {
        const unsigned at = counted[event].column;
        if (!opened) {
            const int file = rw_open_controller_event(&events[event]);
            counted[event].file = file < 0 ? -1 : rw_out_of_the_way(file);
        }
        const int there = rw_read_controller_event(&events[event], counted[event].file, &sums[at]);
        known[at] = known[at] == 0 ? 0 : there;
    }
    opened = 1;
    for (unsigned at = 0; at < socket_count * WAYS; at++)
        if (known[at] == 1)
            values[at] = (uint64_t)sums[at];
    values[socket_count * WAYS] = (uint64_t)getpid();
}

void rw_uncore_rest(void) {
    for (unsigned event = 0; opened && event < event_count; event++)
        if (counted[event].file >= 0)
            close(counted[event].file);
    opened = 0;
}

const struct rw_source rw_uncore = {open_uncore, read_uncore};
