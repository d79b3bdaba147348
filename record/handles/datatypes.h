/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of datatypes, asked of the library once and remembered until any datatype is freed. */
#ifndef RANKWISE_RECORD_DATATYPES_H
#define RANKWISE_RECORD_DATATYPES_H

#include "process/abi.h"
#include "thread/thread.h"

/* Never 0. Changed by every MPI_Type_free, since handles are used again. */
extern uint32_t rw_datatype_generation RW_HIDDEN;

static inline void rw_datatype_freed(void) {
    if (__atomic_add_fetch(&rw_datatype_generation, 1, __ATOMIC_RELAXED) == 0)
        __atomic_add_fetch(&rw_datatype_generation, 1, __ATOMIC_RELAXED);
}

RW_HIDDEN void rw_ask_datatype(struct rw_datatype_slot *slot, MPI_Datatype datatype, uint32_t generation);

static inline const struct rw_datatype_slot *rw_datatype(struct rw_thread *thread, MPI_Datatype datatype) {
    uintptr_t handle = (uintptr_t)datatype;
    uint64_t hash = (uint64_t)handle * 0x9e3779b97f4a7c15u >> 58; /* 64 slots */
    struct rw_datatype_slot *slot = &thread->datatypes[hash % RW_DATATYPE_SLOTS];
    uint32_t generation = __atomic_load_n(&rw_datatype_generation, __ATOMIC_RELAXED);
    if (RW_UNLIKELY(slot->handle != handle || slot->generation != generation))
        rw_ask_datatype(slot, datatype, generation);
    return slot;
}

/** @brief Size of one element in bytes: what is transferred, without gaps. 0 for MPI_DATATYPE_NULL. */
static inline uint64_t rw_datatype_bytes(struct rw_thread *thread, MPI_Datatype datatype) {
#if defined(RW_MPICH_ABI)
    if (RW_LIKELY(((uint32_t)datatype & 0xff000000u) == 0x4c000000u))
        return (uint32_t)datatype >> 8 & 0xffu; /* predefined: the handle says it */
#endif
    return rw_datatype(thread, datatype)->bytes;
}

#endif
