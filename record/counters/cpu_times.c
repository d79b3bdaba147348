/* SPDX-License-Identifier: BSD-3-Clause */
/* What each CPU of the node did: /proc/stat. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/columns_of_cpus.h"
#include "counters/sources.h"

static const char *const states[] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
#define STATES (sizeof states / sizeof *states)

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;
static unsigned cpus;

/* `cpu12` -> 12; -1 for the sum of all and for other lines */
static long number_of(const char *word) {
    if (strncmp(word, "cpu", 3) != 0 || word[3] < '0' || word[3] > '9')
        return -1;
    return strtol(word + 3, NULL, 10);
}

unsigned rw_node_cpus(void) {
    static unsigned highest;
    char word[64];
    struct rw_kept possible;
    uint64_t number;
    if (highest)
        return highest;
    /* A list as `0-3,8`; kernels for many CPUs call more possible than there are, so online ones are taken.
     */
    if (rw_keep(&possible, "/proc/stat") != 0)
        return 0;
    for (int more = rw_read_again(&reader, &possible) == 0; more; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        const long cpu = number_of(word);
        if (cpu >= (long)highest && cpu < (long)RW_MOST_CPUS)
            highest = (unsigned)cpu + 1;
        if (cpu < 0 && strcmp(word, "cpu") != 0)
            break;
    }
    rw_drop(&possible);
    /* CPUs that come back have a place if they are present. */
    if (rw_keep(&possible, "/sys/devices/system/cpu/present") == 0) {
        for (int more = rw_read_again(&reader, &possible) == 0; more && rw_number(&reader, &number);) {
            if (number >= highest && number < RW_MOST_CPUS)
                highest = (unsigned)number + 1;
            more = rw_peek(&reader) == '-' || rw_peek(&reader) == ',';
            reader.at += (size_t)more;
        }
        rw_drop(&possible);
    }
    return highest;
}

static void open_cpu_times(struct rw_series *series) {
    const int error = rw_keep(&file, "/proc/stat");
    cpus = rw_node_cpus();
    if (error || !cpus) {
        rw_note_absent(series, "cpu times", error, "no CPUs in /proc/stat");
        return;
    }
    const long per_s = sysconf(_SC_CLK_TCK);
    rw_note_fact(series, "clock_ticks_per_s", per_s > 0 ? (uint64_t)per_s : 100);
    for (unsigned state = 0; state < STATES; state++)
        rw_add_columns(series, "cpu", states[state], cpus);
}

static void read_cpu_times(uint64_t *values) {
    char word[64];
    for (int more = rw_read_again(&reader, &file) == 0; more; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        const long cpu = number_of(word);
        if (cpu < 0 && strcmp(word, "cpu") != 0)
            return; /* they come first */
        if (cpu < 0 || cpu >= (long)cpus)
            continue;
        for (unsigned state = 0; state < STATES; state++) {
            uint64_t value;
            if (!rw_number(&reader, &value))
                break;
            values[state * cpus + (unsigned)cpu] = value;
        }
    }
}

const struct rw_source rw_cpu_times = {open_cpu_times, read_cpu_times};
