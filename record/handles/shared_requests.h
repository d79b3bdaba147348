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

#include "handles/request.h"

/*
 * What the hot path looks at. A slot is free, being written or read by one thread
 * (busy), or holds a record. Then its state has the record's number: who finds it unchanged has seen one and
 * the same record.
 */
enum { RW_SHARED_FREE, RW_SHARED_BUSY, RW_SHARED_HELD, RW_SHARED_STATE = 3 };
#define RW_SHARED_WORDS 5
#define RW_SHARED_BITS 11u
struct rw_shared_slot {
    uint64_t state;
    uintptr_t handle;
    uint64_t passed; /* records that are further on */
    uint64_t words[RW_SHARED_WORDS];
} __attribute__((aligned(64)));
extern struct rw_shared_slot rw_shared_first[1u << RW_SHARED_BITS] RW_HIDDEN;
extern uint64_t rw_shared_added RW_HIDDEN;
/** @brief rw_keep_request() where there may be a record under the handle. */
RW_HIDDEN int rw_shared_keep(uintptr_t handle, int wanted);

/** @brief Whether there may be a record under this handle. */
static inline int rw_shared_may_have(uintptr_t handle) {
    const struct rw_shared_slot *const slot =
        &rw_shared_first[(uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - RW_SHARED_BITS)];
    return __atomic_load_n(&slot->passed, __ATOMIC_RELAXED) ||
           (__atomic_load_n(&slot->handle, __ATOMIC_RELAXED) == handle &&
            __atomic_load_n(&slot->state, __ATOMIC_RELAXED) != RW_SHARED_FREE);
}

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
