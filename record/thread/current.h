/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of threads: the one of the thread that calls, and all. */
#ifndef RANKWISE_RECORD_CURRENT_H
#define RANKWISE_RECORD_CURRENT_H

#include "thread/thread.h"

extern __thread struct rw_thread *rw_self RW_HIDDEN __attribute__((tls_model("initial-exec")));

/** @brief The thread's record when rw_self is not set: made now, or one that passes every call through. */
RW_HIDDEN struct rw_thread *rw_current_slow(void);

static inline struct rw_thread *rw_current(void) {
    struct rw_thread *thread = rw_self;
    return RW_LIKELY(thread != 0) ? thread : rw_current_slow();
}

/** @brief At least `bytes` of memory for this call's copies, NULL if there is none. */
RW_HIDDEN void *rw_scratch(struct rw_thread *thread, uint64_t bytes);

/** @brief Prepare for threads that end and processes that fork; once, before any call. */
RW_HIDDEN void rw_threads_prepare(void);

/** @brief Give `thread` its place in the node's file, as far as there is space. */
RW_HIDDEN void rw_thread_store(struct rw_thread *thread);

/** @brief Count from now what the scheduler says of the calling thread. */
RW_HIDDEN void rw_thread_begin_schedstat(struct rw_thread *thread);

/** @brief Set rw_rank.flags of every thread of the process. */
RW_HIDDEN void rw_flag_all_threads(uint32_t flags);

/** @brief Refresh a record's last relation of ticks to clocks. */
RW_HIDDEN void rw_relate_clocks(struct rw_rank *rank);

/** @brief First of the list of all threads' records. */
RW_HIDDEN struct rw_thread *rw_all_threads(void);

/** @brief Mark that there is nowhere to store more of this thread: no space, or no file. */
RW_HIDDEN void rw_out_of_space(struct rw_thread *thread);

#endif
