/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the memory controllers read and wrote, of all programs: PMUs with events for that in
 * /sys/bus/event_source/devices (Documentation/ABI/testing/sysfs-bus-event_source-devices-events of Linux),
 * by the CPU that stands for their socket. All ranks look which there are; only the one that samples has them
 * open, as the controllers have few counters. Each counts from when it opened them.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters/kept.h"
#include "counters/sources.h"

#define MOST_EVENTS 64u
#define MOST_SOCKETS 16u
#define WAYS 2u /* read, written */
#define TEXT_BYTES 128u

/* Xeons have cas_count_*, other processors of Intel data_* (arch/x86/events/intel/uncore_*.c). */
static const char *const names[][WAYS] = {{"cas_count_read", "cas_count_write"},
                                          {"data_reads", "data_writes"}};
#define NAMES (sizeof names / sizeof *names)
/* AMD's (Zen 4 on) have no events there: umc_cas_cmd.rd and .wr of perf list, each of 64 bytes. */
static const char *const umc[WAYS] = {"event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2"};

static struct {
    struct perf_event_attr attr;
    double bytes; /* of a count */
    int cpu, file;
    unsigned socket, way;
} events[MOST_EVENTS];
static int sockets[MOST_SOCKETS]; /* the CPU that stands for it */
static unsigned event_count, socket_count, left_out, opened;
static const char *unknown_unit;

/* A file of a PMU's directory, its first line. @return whether there is one */
static int read_text(const char *pmu, const char *name, char text[TEXT_BYTES]) {
    static struct rw_reader reader;
    char path[512];
    struct rw_kept file;
    size_t length = 0;
    if ((size_t)snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/%s", pmu, name) >=
            sizeof path ||
        rw_keep(&file, path) != 0)
        return 0;
    if (rw_read_again(&reader, &file) == 0)
        for (int next; (next = rw_peek(&reader)) >= 0 && next != '\n' && length + 1 < TEXT_BYTES; reader.at++)
            text[length++] = (char)next;
    text[length] = 0;
    rw_drop(&file);
    return length > 0;
}

/* `config:0-7,21` says which bits a term's value has, the lowest first. @return whether it is known */
static int put_bits(struct perf_event_attr *attr, const char *format, uint64_t value) {
    uint64_t *const word = strncmp(format, "config:", 7) == 0    ? (uint64_t *)&attr->config
                           : strncmp(format, "config1:", 8) == 0 ? (uint64_t *)&attr->config1
                           : strncmp(format, "config2:", 8) == 0 ? (uint64_t *)&attr->config2
                                                                 : NULL;
    if (!word)
        return 0;
    for (const char *at = strchr(format, ':'); at && *at; at = strchr(at, ',')) {
        char *end;
        const unsigned long first = strtoul(at + 1, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long bit = first; bit <= last && bit < 64; bit++, value >>= 1)
            *word |= (value & 1) << bit;
        at = end;
        if (*at != ',')
            break;
    }
    return value == 0;
}

/* `event=0x04,umask=0x03`. @return whether the PMU's formats say where all of it goes */
static int parse(const char *pmu, const char *terms, struct perf_event_attr *attr) {
    char list[TEXT_BYTES], format[TEXT_BYTES], path[TEXT_BYTES + 16], *rest = list;
    snprintf(list, sizeof list, "%s", terms);
    for (char *term; (term = strsep(&rest, ",")) != NULL;) {
        char *value = strchr(term, '=');
        if (value)
            *value++ = 0;
        snprintf(path, sizeof path, "format/%s", term);
        if (!read_text(pmu, path, format) || !put_bits(attr, format, value ? strtoull(value, NULL, 0) : 1))
            return 0;
    }
    return 1;
}

/* 0: the unit is none of bytes. */
static double bytes_of(const char *pmu, const char *event) {
    char name[TEXT_BYTES], text[TEXT_BYTES];
    snprintf(name, sizeof name, "events/%s.unit", event);
    const double unit = !read_text(pmu, name, text) ? 0 : strcmp(text, "MiB") == 0 ? 1048576 : 0;
    snprintf(name, sizeof name, "events/%s.scale", event);
    return unit > 0 && read_text(pmu, name, text) ? unit * strtod(text, NULL) : 0;
}

static unsigned socket_of(int cpu) {
    for (unsigned socket = 0; socket < socket_count; socket++)
        if (sockets[socket] == cpu)
            return socket;
    if (socket_count == MOST_SOCKETS)
        return MOST_SOCKETS;
    sockets[socket_count] = cpu;
    return socket_count++;
}

static void add_on(int cpu, const struct perf_event_attr *attr, double bytes, unsigned way) {
    const unsigned socket = socket_of(cpu);
    if (socket == MOST_SOCKETS || event_count == MOST_EVENTS) {
        left_out++;
        return;
    }
    events[event_count].attr = *attr;
    events[event_count].bytes = bytes;
    events[event_count].cpu = cpu;
    events[event_count].file = -1;
    events[event_count].socket = socket;
    events[event_count++].way = way;
}

static void add(const char *pmu, const char *terms, double bytes, unsigned way) {
    char text[TEXT_BYTES];
    struct perf_event_attr attr = {
        .size = sizeof attr, .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    if (!read_text(pmu, "type", text))
        return;
    attr.type = (uint32_t)strtoul(text, NULL, 10);
    if (!parse(pmu, terms, &attr) || !read_text(pmu, "cpumask", text))
        return;
    for (char *rest = text, *cpus; (cpus = strsep(&rest, ",")) != NULL;) {
        char *end;
        const long first = strtol(cpus, &end, 10), last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
        for (long cpu = first; cpu <= last; cpu++)
            add_on((int)cpu, &attr, bytes, way);
    }
}

static void add_pmu(const char *pmu) {
    char path[TEXT_BYTES], terms[TEXT_BYTES];
    for (unsigned name = 0; name < NAMES; name++)
        for (unsigned way = 0; way < WAYS; way++) {
            snprintf(path, sizeof path, "events/%s", names[name][way]);
            if (!read_text(pmu, path, terms))
                continue;
            const double bytes = bytes_of(pmu, names[name][way]);
            if (bytes > 0)
                add(pmu, terms, bytes, way);
            else
                unknown_unit = "its unit is not MiB with a scale";
        }
    for (unsigned way = 0; way < WAYS && strncmp(pmu, "amd_umc_", 8) == 0; way++)
        add(pmu, umc[way], 64, way);
}

static int open_event(unsigned event) {
    return (int)syscall(SYS_perf_event_open, &events[event].attr, -1, events[event].cpu, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static int by_place(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void open_uncore(struct rw_series *series) {
    char path[512], text[32];
    rw_root_path(path, sizeof path, "/sys/bus/event_source/devices");
    DIR *const directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < 64)
            add_pmu(entry->d_name);
    const char *why = !directory ? "/sys/bus/event_source/devices" : unknown_unit;
    int error = directory ? 0 : errno;
    if (directory)
        closedir(directory);
    if (event_count) {
        const char *const kills = rw_perf_kills();
        const int file = kills ? -1 : open_event(0);
        error = file < 0 ? kills ? EPERM : errno : 0;
        why = kills ? kills : "counters of all programs";
        if (file >= 0)
            close(file);
    }
    if (!event_count || error) {
        rw_note_absent(series, "memory bandwidth", error,
                       why ? why : "no PMU of a memory controller in /sys/bus/event_source/devices");
        event_count = 0;
        return;
    }
    if (left_out)
        rw_note_absent(series, "memory bandwidth of more controllers", 0, "only 64 counters are sampled");
    /* Directories have no order that would be the same in all ranks. */
    int order[MOST_SOCKETS];
    memcpy(order, sockets, sizeof order);
    qsort(order, socket_count, sizeof *order, by_place);
    for (unsigned event = 0; event < event_count; event++)
        for (unsigned socket = 0; socket < socket_count; socket++)
            if (order[socket] == events[event].cpu)
                events[event].socket = socket;
    for (unsigned socket = 0; socket < socket_count; socket++) {
        snprintf(text, sizeof text, "%d", order[socket]);
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
        uint64_t got[3];
        const unsigned at = events[event].socket * WAYS + events[event].way;
        if (!opened) {
            const int file = open_event(event);
            events[event].file = file < 0 ? -1 : rw_out_of_the_way(file);
        }
        const int there = events[event].file >= 0 &&
                          read(events[event].file, got, sizeof got) == (ssize_t)sizeof got &&
                          (got[2] > 0 || got[1] == 0);
        if (there && got[2])
            sums[at] += (double)got[0] * ((double)got[1] / (double)got[2]) * events[event].bytes;
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
        if (events[event].file >= 0)
            close(events[event].file);
    opened = 0;
}

const struct rw_source rw_uncore = {open_uncore, read_uncore};
