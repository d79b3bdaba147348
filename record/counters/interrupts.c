/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts of each CPU, all lines together: /proc/interrupts. Which lines they were say its copies
 * (snapshot.c). */
#include <string.h>

#include "counters/columns_of_cpus.h"
#include "counters/sources.h"

static struct rw_cpu_rows rows = {.file = RW_NOT_KEPT};

static void open_interrupts(struct rw_series *series) {
    const unsigned cpus = rw_cpu_rows_open(&rows, series, "interrupts", "/proc/interrupts", rw_node_cpus());
    if (cpus)
        rw_add_columns(series, "interrupts", NULL, cpus);
}

static void read_interrupts(uint64_t *values) {
    char word[64];
    int more = rw_cpu_rows_again(&rows);
    if (more)
        rw_cpu_rows_zero(&rows, values);
    for (; more; more = rw_skip_line(&rows.reader)) {
        rw_word(&rows.reader, word, sizeof word);
        /* These are of no CPU. */
        if (rw_peek(&rows.reader) == ':' && strcmp(word, "ERR") != 0 && strcmp(word, "MIS") != 0)
            rw_cpu_rows_add(&rows, values);
    }
}

const struct rw_source rw_interrupts = {open_interrupts, read_interrupts};
