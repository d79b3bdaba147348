/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of requests where threads call at the same time (MPI_THREAD_MULTIPLE). No thread ever waits for
 * another.
 *
 * A record is looked up after the call that completed its request. By then the library may have given the
 * handle to another thread, and that may have added its own. So records are counted as they are added, and a
 * call that completes requests means the newest of those that there were before it began: as long as a handle
 * is in use, no other request gets it. Requests of which completion says nothing are added only if a record
 * of their handle is still there, which is rare: it is that of a request before, and would be taken for
 * theirs. They are added neither if the handle has very many records already: then it is one that the library
 * gives to all that are complete at once, and to look through them all would take the square of their number.
 */
#ifndef RANKWISE_RECORD_SHARED_REQUESTS_H
#define RANKWISE_RECORD_SHARED_REQUESTS_H

#include "handles/requests.h"

/* In requests.h: rw_shared_added, how many were ever added, and rw_shared_keep(). */

enum rw_request_use { RW_LOOK_UP, RW_START, RW_CANCEL, RW_TAKE, RW_DROP };

/** @brief Add a copy of the record; without memory it is not added. */
RW_HIDDEN void rw_shared_add(const struct rw_request *request, uintptr_t handle);

/** @brief Add a receive that is not persistent. */
RW_HIDDEN void rw_shared_add_receive(uintptr_t handle, uint64_t number, unsigned call,
                                     struct rw_group *peers);

/**
 * @brief Copy a record and change or forget it as `how` says.
 * @param added how many there were at most when it was added.
 * @return 1, or 0 if there is none.
 */
RW_HIDDEN int rw_shared_use(uintptr_t handle, uint64_t added, struct rw_request *copy,
                            enum rw_request_use how);

#endif
