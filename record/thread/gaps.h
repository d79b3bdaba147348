/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_GAPS_H
#define RANKWISE_RECORD_GAPS_H

#include "thread/thread.h"

/** @brief A call begins after a gap that may be worth measuring. */
RW_HIDDEN void rw_measure_gap(struct rw_thread *thread, uint64_t begin);

/** @brief A call has ended: a gap that is to be measured may begin. */
RW_HIDDEN void rw_await_gap(struct rw_thread *thread, uint64_t end);

/** @return when rw_await_gap() is to be called next */
RW_HIDDEN uint64_t rw_next_await(const struct rw_thread *thread);

#endif
