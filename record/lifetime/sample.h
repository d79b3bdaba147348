/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SAMPLE_H
#define RANKWISE_RECORD_SAMPLE_H

#include "thread/thread.h"

/** @brief Read the scheduler's figures and relate ticks to the clocks; every 10 ms or so. */
RW_HIDDEN void rw_sample(struct rw_thread *thread, uint64_t now);

#endif
