/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts of each CPU, all lines together: /proc/interrupts. Which lines they were say its copies
 * (snapshot.c). */
#include <string.h>

#include "counters/columns_of_cpus.h"
#include "counters/sources.h"

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;
static struct rw_cpu_columns columns;
static unsigned cpus;

static void open_interrupts(struct rw_series *series) {
    const int error = rw_keep(&file, "/proc/interrupts");
    cpus = rw_node_cpus();
    if (error || !cpus) {
        rw_note_absent(series, "interrupts", error, error ? "/proc/interrupts" : "no CPUs in /proc/stat");
        return;
    }
    rw_add_columns(series, "interrupts", NULL, cpus);
}

static void read_interrupts(uint64_t *values) {
    char word[64];
    if (rw_read_again(&reader, &file) != 0)
        return;
    rw_read_cpu_columns(&reader, &columns);
    for (unsigned column = 0; column < columns.count; column++)
        if (columns.cpu[column] < cpus)
            values[columns.cpu[column]] = 0;
    for (int more = rw_peek(&reader) >= 0; more; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        /* These are of no CPU. */
        if (rw_peek(&reader) != ':' || strcmp(word, "ERR") == 0 || strcmp(word, "MIS") == 0)
            continue;
        reader.at++;
        for (unsigned column = 0; column < columns.count; column++) {
            uint64_t value;
            if (!rw_number(&reader, &value))
                break;
            if (columns.cpu[column] < cpus)
                values[columns.cpu[column]] += value;
        }
    }
}

const struct rw_source rw_interrupts = {open_interrupts, read_interrupts};
