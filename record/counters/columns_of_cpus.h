/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /proc with a row for each kind and a column for each CPU, as /proc/interrupts and /proc/softirqs.
 */
#ifndef RANKWISE_RECORD_COLUMNS_OF_CPUS_H
#define RANKWISE_RECORD_COLUMNS_OF_CPUS_H

#include "counters/kept.h"

#define RW_MOST_CPUS 8192u

/* CPUs of the columns, from the first line: those that are online, and of large numbers none. */
struct rw_cpu_columns {
    unsigned count;
    uint16_t cpu[RW_MOST_CPUS];
};

/** @brief Read the first line, `CPU0 CPU1 ...`. */
RW_KEPT_HIDDEN void rw_read_cpu_columns(struct rw_reader *reader, struct rw_cpu_columns *columns);

#endif
