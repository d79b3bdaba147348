/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_PROCESS_H
#define RANKWISE_RECORD_PROCESS_H

#include <sched.h>
#include <stdint.h>

#include "../formats/recording.h"
#include "process/next.h"

struct rw_process {
    int inert; /* every call is passed through; set in children of fork as well */
    int ready; /* MPI is initialised and the world known: threads may store */
    int timed;
    int traced;
    uint64_t first_call, last_call; /* of each thread to be traced, counted from 1; 0: all */
    const char *phase;              /* only this phase is to be traced (wrap/phase.c); NULL: all */
    int phase_level;                /* its level, where it has one instead of a name */
    uint64_t phase_bytes;           /* of the name with the zero behind it; 0: it has a level */
    int exact;                      /* times in the trace are not rounded */
    int sited;                      /* places of calls are kept */
    int multiple;                   /* MPI_THREAD_MULTIPLE was provided: shared tables need their locks */
    uint64_t init_ticks;
    int sessions;    /* open ones */
    int world_model; /* between MPI_Init and MPI_Finalize */
    int finishing;   /* MPI_Finalize was entered */
    int finished;    /* it returned: what is counted from here on is sealed after each call */
    const char *directory;
    struct rw_rank rank; /* what every thread's record begins as */
};

extern struct rw_process rw_process RW_HIDDEN;

/** @brief Remember the library and the environment; before any MPI call is recorded. */
RW_HIDDEN void rw_process_prepare(const struct rw_library *library);

/* A lock that costs nothing unless several threads may call MPI at once. */
static inline void rw_lock(int *lock) {
    if (RW_UNLIKELY(rw_process.multiple))
        while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
            sched_yield();
}

static inline void rw_unlock(int *lock) {
    if (RW_UNLIKELY(rw_process.multiple))
        __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
