/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_HISTOGRAMS_H
#define RANKWISE_RECORD_HISTOGRAMS_H

#include "thread/thread.h"

/** @brief The bins of a function that is called for the first time, or some that are not kept. */
RW_HIDDEN uint64_t *rw_first_call(struct rw_thread *thread, unsigned call);

#endif
