/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /proc with a row for each kind and a column for each CPU, as /proc/interrupts and /proc/softirqs.
 */
#ifndef RANKWISE_RECORD_COLUMNS_OF_CPUS_H
#define RANKWISE_RECORD_COLUMNS_OF_CPUS_H

#include "counters/kept.h"
#include "counters/series.h"

#define RW_MOST_CPUS 8192u

/* CPUs of the columns, from the first line: those that are online, and of large numbers none. */
struct rw_cpu_columns {
    unsigned count;
    uint16_t cpu[RW_MOST_CPUS];
};

/** @brief Read the first line, `CPU0 CPU1 ...`. */
RW_KEPT_HIDDEN void rw_read_cpu_columns(struct rw_reader *reader, struct rw_cpu_columns *columns);

/* A file of this kind that is sampled, for the CPUs that the node can have. */
struct rw_cpu_rows {
    struct rw_kept file;
    struct rw_reader reader;
    struct rw_cpu_columns columns;
    unsigned cpus; /* 0: not sampled */
};

/**
 * @brief Keep the file, or note that the source `what` is not there.
 * @param cpus that the node can have
 * @return for how many CPUs it is sampled
 */
RW_KEPT_HIDDEN unsigned rw_cpu_rows_open(struct rw_cpu_rows *rows, struct rw_series *series, const char *what,
                                         const char *path, unsigned cpus);

/** @brief Begin again, behind the first line. @return whether there is a row */
RW_KEPT_HIDDEN int rw_cpu_rows_again(struct rw_cpu_rows *rows);

/** @brief Add the numbers behind the colon of a row to `sums` by CPU. */
RW_KEPT_HIDDEN void rw_cpu_rows_add(struct rw_cpu_rows *rows, uint64_t *sums);

/** @brief Make the sums of the CPUs that are online 0. */
RW_KEPT_HIDDEN void rw_cpu_rows_zero(const struct rw_cpu_rows *rows, uint64_t *sums);

#endif
