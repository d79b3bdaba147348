/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "counters/memory_controllers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAYS 2u /* read, written */
#define TEXT_BYTES 128u
#define PATH_BYTES 1024u

/* Xeons have cas_count_*, other processors of Intel data_* (arch/x86/events/intel/uncore_*.c). */
static const char *const names[][WAYS] = {{"cas_count_read", "cas_count_write"},
                                          {"data_reads", "data_writes"}};
#define NAMES (sizeof names / sizeof *names)
/* AMD's (Zen 4 on) have no events there: umc_cas_cmd.rd and .wr of perf list, each of 64 bytes. */
static const char *const umc[WAYS] = {"event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2"};

struct found {
    struct rw_controller_event *events;
    unsigned most, count;
    int unknown;
};

/* A file of a PMU's directory, its first line. @return whether there is one */
static int read_text(const char *pmu, const char *name, char text[TEXT_BYTES]) {
    char path[PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", pmu, name) >= sizeof path)
        return 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return 0;
    ssize_t length;
    do
        length = read(file, text, TEXT_BYTES - 1);
    while (length < 0 && errno == EINTR);
    close(file);
    text[length > 0 ? length : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    return text[0] != 0;
}

/* `config:0-7,21` says which bits a term's value has, the lowest first. @return whether it is known */
static int put_bits(struct perf_event_attr *attr, const char *format, uint64_t value) {
    __u64 *const word = strncmp(format, "config:", 7) == 0    ? &attr->config
                        : strncmp(format, "config1:", 8) == 0 ? &attr->config1
                        : strncmp(format, "config2:", 8) == 0 ? &attr->config2
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

/* A program may have set another locale. */
static double number_of(const char *text) {
    const locale_t own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const double number = own ? strtod_l(text, NULL, own) : 0;
    if (own)
        freelocale(own);
    return number;
}

/* 0: the unit is none of bytes. */
static double bytes_of(const char *pmu, const char *event) {
    char name[TEXT_BYTES], text[TEXT_BYTES];
    snprintf(name, sizeof name, "events/%s.unit", event);
    const double unit = !read_text(pmu, name, text) ? 0 : strcmp(text, "MiB") == 0 ? 1048576 : 0;
    snprintf(name, sizeof name, "events/%s.scale", event);
    return unit > 0 && read_text(pmu, name, text) ? unit * number_of(text) : 0;
}

static void add(struct found *found, const char *pmu, const char *terms, double bytes, unsigned way) {
    char text[TEXT_BYTES];
    struct rw_controller_event event = {
        .attr = {.size = sizeof event.attr,
                 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING},
        .bytes = bytes,
        .way = way};
    found->unknown |= !parse(pmu, terms, &event.attr) || !read_text(pmu, "type", text);
    if (found->unknown)
        return;
    event.attr.type = (uint32_t)strtoul(text, NULL, 10);
    found->unknown |= !read_text(pmu, "cpumask", text);
    if (found->unknown)
        return;
    for (char *rest = text, *cpus; (cpus = strsep(&rest, ",")) != NULL;) {
        char *end;
        const long first = strtol(cpus, &end, 10), last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
        for (long cpu = first; cpu <= last; cpu++, found->count++) {
            event.cpu = (int)cpu;
            if (found->count < found->most)
                found->events[found->count] = event;
        }
    }
}

static void add_pmu(struct found *found, const char *devices, const char *name) {
    char pmu[PATH_BYTES], path[TEXT_BYTES], terms[TEXT_BYTES];
    if ((size_t)snprintf(pmu, sizeof pmu, "%s/%s", devices, name) >= sizeof pmu)
        return;
    for (unsigned kind = 0; kind < NAMES; kind++) {
        unsigned there = 0;
        for (unsigned way = 0; way < WAYS; way++) {
            snprintf(path, sizeof path, "events/%s", names[kind][way]);
            if (!read_text(pmu, path, terms))
                continue;
            there++;
            const double bytes = bytes_of(pmu, names[kind][way]);
            if (bytes > 0)
                add(found, pmu, terms, bytes, way);
            else
                found->unknown = 1;
        }
        found->unknown |= there != 0 && there != WAYS;
    }
    for (unsigned way = 0; way < WAYS && strncmp(name, "amd_umc_", 8) == 0; way++)
        add(found, pmu, umc[way], 64, way);
}

int rw_find_controller_events(const char *devices, struct rw_controller_event *events, unsigned most,
                              int *unknown) {
    struct found found = {.events = events, .most = most};
    DIR *const directory = opendir(devices);
    if (!directory)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            add_pmu(&found, devices, entry->d_name);
    closedir(directory);
    *unknown = found.unknown;
    return (int)found.count;
}

int rw_open_controller_event(const struct rw_controller_event *event) {
    return (int)syscall(SYS_perf_event_open, &event->attr, -1, event->cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int rw_read_controller_event(const struct rw_controller_event *event, int file, double *bytes) {
    uint64_t got[3];
    if (file < 0 || read(file, got, sizeof got) != (ssize_t)sizeof got || (got[2] == 0 && got[1] != 0))
        return 0;
    if (got[2])
        *bytes += (double)got[0] * ((double)got[1] / (double)got[2]) * event->bytes;
    return 1;
}
