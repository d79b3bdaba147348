/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of this process (formats/tune_page.h): made when MPI has started, NULL before and where it cannot
 * be. */
#ifndef RANKWISE_RECORD_TUNE_PAGE_H
#define RANKWISE_RECORD_TUNE_PAGE_H

#include "../formats/tune_page.h"
#include "process/next.h"

extern struct rw_tune_page *rw_page RW_HIDDEN;

/** @brief Keep the directory, and begin to relate ticks to time. */
RW_HIDDEN void rw_page_prepare(const char *directory);

/** @brief Make the page of a rank; says at most one line if it cannot. Spawned processes have none. */
RW_HIDDEN void rw_page_open(void);

/** @brief Say that the rank ends, and remove the page's name. */
RW_HIDDEN void rw_page_end(void);

/* 1 if several threads may call MPI at once (MPI_THREAD_MULTIPLE). */
extern int rw_tune_multiple RW_HIDDEN;

/* Most counters have one writer, and readers that must not see half of one. */
#define RW_PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define RW_ADD(field, more) RW_PUT(field, (field) + (more))
/* Those of calls have all threads for writers. */
#define RW_ADD_SHARED(field, more)                                                                           \
    do {                                                                                                     \
        if (RW_UNLIKELY(rw_tune_multiple))                                                                   \
            __atomic_fetch_add(&(field), (more), __ATOMIC_RELAXED);                                          \
        else                                                                                                 \
            RW_ADD(field, more);                                                                             \
    } while (0)

#endif
