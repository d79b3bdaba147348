/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that interrupts left for later, by kind and CPU: /proc/softirqs. */
#include <string.h>

#include "counters/columns_of_cpus.h"
#include "counters/sources.h"

static const char *const kinds[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
#define KINDS (sizeof kinds / sizeof *kinds)

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;
static struct rw_cpu_columns columns;
static unsigned cpus;

static void open_softirqs(struct rw_series *series) {
    const int error = rw_keep(&file, "/proc/softirqs");
    cpus = rw_node_cpus();
    if (error || !cpus) {
        rw_note_absent(series, "softirqs", error, error ? "/proc/softirqs" : "no CPUs in /proc/stat");
        return;
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        rw_add_columns(series, "softirq", kinds[kind], cpus);
}

static void read_softirqs(uint64_t *values) {
    char word[64];
    if (rw_read_again(&reader, &file) != 0)
        return;
    rw_read_cpu_columns(&reader, &columns);
    for (int more = rw_peek(&reader) >= 0; more; more = rw_skip_line(&reader)) {
        unsigned kind = 0;
        rw_word(&reader, word, sizeof word);
        while (kind < KINDS && strcmp(word, kinds[kind]) != 0)
            kind++;
        if (kind == KINDS || rw_peek(&reader) != ':')
            continue;
        reader.at++;
        for (unsigned column = 0; column < columns.count; column++) {
            uint64_t value;
            if (!rw_number(&reader, &value))
                break;
            if (columns.cpu[column] < cpus)
                values[kind * cpus + columns.cpu[column]] = value;
        }
    }
}

const struct rw_source rw_softirqs = {open_softirqs, read_softirqs};
