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
