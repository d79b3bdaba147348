/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SEALS_H
#define RANKWISE_RECORD_SEALS_H

#include "thread/thread.h"

/**
 * @brief Store the checksums of all that the thread has in the file; it is between two calls, or ended.
 * @param closed nothing of it changes any more, or rw_seal() is called again afterwards
 */
RW_HIDDEN void rw_seal(struct rw_thread *thread, int closed);

/** @brief rw_seal(), not closed, if the last time is a second ago. */
RW_HIDDEN void rw_seal_when_due(struct rw_thread *thread);

#endif
