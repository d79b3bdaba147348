/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the first thread came to another CPU, where perf_event does not count it for all threads: the
 * scheduler's own number, which kernels with CONFIG_SCHED_DEBUG show.
 */
#include <string.h>

#include "counters/kept.h"
#include "counters/sources.h"

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;

static int find(uint64_t *value) {
    char word[64];
    for (int more = rw_read_again(&reader, &file) == 0; more; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        if (strcmp(word, "se.nr_migrations") != 0 || rw_skip_blanks(&reader) != ':')
            continue;
        reader.at++;
        return rw_number(&reader, value);
    }
    return 0;
}

static void open_migrations(struct rw_series *series) {
    uint64_t value;
    if (rw_perf_counts_migrations())
        return;
    const int error = rw_keep(&file, "/proc/self/sched");
    if (!error && find(&value))
        rw_add_columns(series, "migrations", NULL, 1);
    else
        rw_note_absent(series, "migrations", error,
                       error ? "/proc/self/sched" : "no se.nr_migrations in /proc/self/sched");
}

static void read_migrations(uint64_t *values) {
    uint64_t value;
    if (find(&value))
        values[0] = value;
}

const struct rw_source rw_migrations = {open_migrations, read_migrations};
