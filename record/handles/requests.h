/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests whose completion says something: receives (true source and size), persistent operations,
 * duplicates of communicators, matched messages; with a trace all of them, for their numbers.
 *
 * Libraries hand out one handle many times at once for operations that are complete already (sends to
 * MPI_PROC_NULL, small sends), so a handle may stand for several records; which of those a call takes is all
 * the same. A handle is looked up after the call that completed it; meant is the newest record, should a
 * completion have gone unseen. What is completed once is kept near: in the slot of its handle, one a slot.
 * All others are in a table, as are those whose handle another request has got since. With
 * MPI_THREAD_MULTIPLE all are in one that threads share without a lock (shared_requests.h).
 */
#ifndef RANKWISE_RECORD_REQUESTS_H
#define RANKWISE_RECORD_REQUESTS_H

#include "handles/communicators.h"
#include "handles/shared_requests.h"
#include "process/process.h"
#include "thread/thread.h"

/** @brief A record for a new request, numbered; NULL without memory. Give it to rw_request_add() when filled.
 */
RW_HIDDEN struct rw_request *rw_request_new(int kind, unsigned call);
RW_HIDDEN void rw_request_add(struct rw_request *request, uintptr_t handle);

/** @brief From now on threads may call at the same time: requests get a table that bears it, and so it is
 * said. */
RW_HIDDEN void rw_requests_share(void);

/** @brief Before a call that may complete requests: those that get their handles from now on are others. */
static inline void rw_requests_may_end(struct rw_thread *thread) {
    if (RW_UNLIKELY(rw_process.multiple))
        thread->added_before = __atomic_load_n(&rw_shared_added, __ATOMIC_RELAXED);
}

/** @brief Whether a request of which completion says nothing is to be added all the same; if not, it is
 * numbered. */
static inline int rw_keep_request(struct rw_thread *thread, uintptr_t handle) {
    int keep = thread->traced;
    if (RW_UNLIKELY(rw_process.multiple) && rw_shared_may_have(handle)) {
        keep = rw_shared_keep(handle, keep);
        thread->numbered += !keep;
    }
    return keep;
}

/** @brief How far back in the thread's trace a request was made; of another thread's, before the trace. */
static inline uint64_t rw_request_back(const struct rw_thread *thread, uint64_t number) {
    if (RW_LIKELY((number ^ thread->numbered) >> RW_NUMBER_BITS == 0))
        return thread->numbered - number;
    return (thread->numbered & (((uint64_t)1 << RW_NUMBER_BITS) - 1)) + 2;
}

/** @brief What rw_request_take() does with a request that is in the table. */
RW_HIDDEN int rw_request_take_from_table(uintptr_t handle, struct rw_request *taken);

/** @brief The request is freed: copy its record and forget it, persistent or not. */
RW_HIDDEN int rw_request_drop(uintptr_t handle, struct rw_request *dropped);

/** @brief A persistent operation starts: copy its record and make it active. */
RW_HIDDEN int rw_request_start(uintptr_t handle, struct rw_request *started);

/** @brief MPI_Cancel was called: mark and copy the record. */
RW_HIDDEN int rw_request_cancel(uintptr_t handle, struct rw_request *cancelled);

/** @brief What came of a persistent receive, before a call completes it. */
RW_HIDDEN void rw_request_note(uintptr_t handle, int64_t peer, int tag, uint64_t bytes);

/** @brief Copy the record. */
RW_HIDDEN int rw_request_look_up(uintptr_t handle, struct rw_request *found);

/* How many are near, and in the table (shared: some): without any, completion calls need no look. */
extern uint64_t rw_requests_near, rw_requests_in_table RW_HIDDEN;
static inline int rw_any_requests(void) {
    return rw_requests_near || rw_requests_in_table;
}

/* What rw_request has of a request that is not persistent, two to a cache line. */
#define RW_NEAR_BITS 10u
struct rw_near_request {
    uintptr_t handle; /* 0: the slot is free */
    uint64_t number;
    union {
        struct rw_group *peers; /* receives */
        uint64_t bytes;         /* sends */
    };
    uint32_t peer; /* sends */
    uint16_t call;
    uint8_t kind;
    uint8_t counted;
};
extern struct rw_near_request rw_near[1u << RW_NEAR_BITS] RW_HIDDEN;

static inline struct rw_near_request *rw_near_slot(uintptr_t handle) {
    return &rw_near[(uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - RW_NEAR_BITS)];
}

/**
 * @brief A slot near for a new request, numbered; its other fields are to be filled in. NULL if another one
 * has it, or threads may call at the same time: then it belongs in the table.
 */
static inline struct rw_near_request *rw_near_add(struct rw_thread *thread, uintptr_t handle, int kind,
                                                  unsigned call) {
    struct rw_near_request *const slot = rw_near_slot(handle);
    if (RW_UNLIKELY(rw_process.multiple || slot->handle || !handle))
        return NULL;
    slot->handle = handle;
    slot->number = thread->numbered++;
    slot->call = (uint16_t)call;
    slot->kind = (uint8_t)kind;
    rw_requests_near++;
    return slot;
}

static inline void rw_near_forget(struct rw_near_request *slot) {
    slot->handle = 0;
    rw_requests_near--;
}

static inline void rw_near_take(struct rw_near_request *slot, struct rw_request *taken) {
    taken->number = slot->number;
    taken->call = slot->call;
    taken->kind = slot->kind;
    taken->persistent = taken->active = taken->cancelling = taken->reported = 0;
    taken->counted = slot->counted;
    if (slot->kind == RW_REQUEST_RECEIVE) {
        taken->peers = slot->peers;
    } else {
        taken->bytes = slot->bytes;
        taken->peer = slot->peer;
    }
    rw_near_forget(slot);
}

/**
 * @brief The operation is over: copy its record and forget it, or make it inactive if persistent.
 * @return 1, or 0 if no record is known under this handle.
 */
static inline int rw_request_take(uintptr_t handle, struct rw_request *taken) {
    if (RW_UNLIKELY(rw_process.multiple))
        return rw_shared_may_have(handle) && rw_request_take_from_table(handle, taken);
    struct rw_near_request *const slot = rw_near_slot(handle);
    if (RW_LIKELY(slot->handle == handle && handle)) {
        rw_near_take(slot, taken);
        return 1;
    }
    return rw_requests_in_table && rw_request_take_from_table(handle, taken);
}

/* Message handles live in the same table, their bits inverted so that they never equal a request. */
static inline uintptr_t rw_message_key(MPI_Message message) {
    return (uintptr_t)message ^ ~(uintptr_t)0;
}

#endif
