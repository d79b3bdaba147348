/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of this process (formats/tune_page.h): made when MPI has started, NULL before and where it cannot
 * be. */
#ifndef RANKWISE_RECORD_TUNE_PAGE_H
#define RANKWISE_RECORD_TUNE_PAGE_H

#include "../formats/tune_page.h"
#include "process/abi.h"

extern struct rw_tune_page *rw_page RW_HIDDEN;

/** @brief Keep the directory, and begin to relate ticks to time. */
RW_HIDDEN void rw_page_prepare(const char *directory);

/** @brief Make the page of a rank; says at most one line if it cannot. Spawned processes have none. */
RW_HIDDEN void rw_page_open(void);

/** @brief Say that the rank ends, and remove the page's name. */
RW_HIDDEN void rw_page_end(void);

/* Counters have one writer, and readers that must not see half of one. */
#define RW_PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define RW_ADD(field, more) RW_PUT(field, (field) + (more))

#endif
