/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters/columns_of_cpus.h"

#include <stdlib.h>
#include <string.h>

void rw_read_cpu_columns(struct rw_reader *reader, struct rw_cpu_columns *columns) {
    char word[32];
    columns->count = 0;
    while (rw_word(reader, word, sizeof word) > 0) {
        if (strncmp(word, "CPU", 3) != 0 || columns->count == RW_MOST_CPUS)
            continue;
        const unsigned long cpu = strtoul(word + 3, NULL, 10);
        columns->cpu[columns->count++] = (uint16_t)(cpu < RW_MOST_CPUS ? cpu : RW_MOST_CPUS - 1);
    }
    rw_skip_line(reader);
}

unsigned rw_cpu_rows_open(struct rw_cpu_rows *rows, struct rw_series *series, const char *what,
                          const char *path, unsigned cpus) {
    const int error = rw_keep(&rows->file, path);
    rows->cpus = error ? 0 : cpus;
    if (!rows->cpus)
        rw_note_absent(series, what, error, error ? path : "no CPUs in /proc/stat");
    return rows->cpus;
}

int rw_cpu_rows_again(struct rw_cpu_rows *rows) {
    if (rw_read_again(&rows->reader, &rows->file) != 0)
        return 0;
    rw_read_cpu_columns(&rows->reader, &rows->columns);
    return rw_peek(&rows->reader) >= 0;
}

void rw_cpu_rows_zero(const struct rw_cpu_rows *rows, uint64_t *sums) {
    for (unsigned column = 0; column < rows->columns.count; column++)
        if (rows->columns.cpu[column] < rows->cpus)
            sums[rows->columns.cpu[column]] = 0;
}

void rw_cpu_rows_add(struct rw_cpu_rows *rows, uint64_t *sums) {
    uint64_t value;
    rows->reader.at++; /* the colon */
    for (unsigned column = 0; column < rows->columns.count && rw_number(&rows->reader, &value); column++)
        if (rows->columns.cpu[column] < rows->cpus)
            sums[rows->columns.cpu[column]] += value;
}
