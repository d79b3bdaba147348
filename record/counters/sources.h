/* SPDX-License-Identifier: BSD-3-Clause */
/* What is sampled: of a process, and of its node. */
#ifndef RANKWISE_RECORD_SOURCES_H
#define RANKWISE_RECORD_SOURCES_H

#include "counters/series.h"

/* Of the process. */
extern const struct rw_source rw_usage RW_HIDDEN, rw_where RW_HIDDEN, rw_perf RW_HIDDEN,
    rw_migrations RW_HIDDEN, rw_threads RW_HIDDEN;

/* Of the node. */
extern const struct rw_source rw_cpu_times RW_HIDDEN, rw_softirqs RW_HIDDEN, rw_interrupts RW_HIDDEN,
    rw_softnet RW_HIDDEN, rw_interfaces RW_HIDDEN, rw_tcp RW_HIDDEN, rw_ports RW_HIDDEN, rw_uncore RW_HIDDEN;

/** @brief Another rank samples now: close what counts on memory controllers. */
RW_HIDDEN void rw_uncore_rest(void);

/** @brief Whether a counter of perf_event says how often threads came to another CPU. */
RW_HIDDEN int rw_perf_counts_migrations(void);

/** @brief Note peak memory, and on which NUMA nodes it is now. */
RW_HIDDEN void rw_note_memory(struct rw_series *series);

/** @brief Note the network devices that the process has open; at the start also its interfaces' addresses. */
RW_HIDDEN void rw_note_devices(struct rw_series *series, int at_start);

/** @brief What the shim sees of calls that bind the first thread; NULL where it sees none. */
RW_HIDDEN void rw_where_prepare(const struct rw_mask_setter *of_shim);

/** @brief See on which core the calling thread is now, and which it may use. */
RW_HIDDEN void rw_look_where(void);

/** @brief Note on which cores it was seen. */
RW_HIDDEN void rw_note_ran_on(struct rw_series *series);

/** @brief Note on which cores threads were that ran. */
RW_HIDDEN void rw_note_threads_ran_on(struct rw_series *series);

/** @brief How many OS PUs the node can have: the highest number + 1. */
RW_HIDDEN unsigned rw_node_cpus(void);

#endif
