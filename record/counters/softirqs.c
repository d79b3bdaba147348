/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that interrupts left for later, by kind and CPU: /proc/softirqs. */
#include <string.h>

#include "counters/columns_of_cpus.h"
#include "counters/sources.h"

static const char *const kinds[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
#define KINDS (sizeof kinds / sizeof *kinds)

static struct rw_cpu_rows rows = {.file = RW_NOT_KEPT};

static void open_softirqs(struct rw_series *series) {
    const unsigned cpus = rw_cpu_rows_open(&rows, series, "softirqs", "/proc/softirqs", rw_node_cpus());
    for (unsigned kind = 0; cpus && kind < KINDS; kind++)
        rw_add_columns(series, "softirq", kinds[kind], cpus);
}

static void read_softirqs(uint64_t *values) {
    char word[64];
    for (int more = rw_cpu_rows_again(&rows); more; more = rw_skip_line(&rows.reader)) {
        unsigned kind = 0;
        rw_word(&rows.reader, word, sizeof word);
        while (kind < KINDS && strcmp(word, kinds[kind]) != 0)
            kind++;
        if (kind == KINDS || rw_peek(&rows.reader) != ':')
            continue;
        rw_cpu_rows_zero(&rows, values + kind * rows.cpus);
        rw_cpu_rows_add(&rows, values + kind * rows.cpus);
    }
}

const struct rw_source rw_softirqs = {open_softirqs, read_softirqs};
