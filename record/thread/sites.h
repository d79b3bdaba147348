/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SITES_H
#define RANKWISE_RECORD_SITES_H

#include "thread/thread.h"

/** @brief Count the call that is under way by the place it came from; its bytes are entered by the next one.
 */
RW_HIDDEN void rw_count_site(struct rw_thread *thread, unsigned call, uint64_t ticks);

/** @brief Enter the bytes of the call before, if that was not done. */
RW_HIDDEN void rw_settle_site(struct rw_thread *thread);

/** @return the file that has the code at `address`, for as long as the process lives; NULL if none is known.
 */
RW_HIDDEN const char *rw_file_of_code(const void *address);

#endif
