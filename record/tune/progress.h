/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the rank gets on: calls of all threads, without those that only ask; time in MPI and iterations of the
 * thread that started MPI.
 *
 * Two readings of the tick counter cost more than all the rest. While calls come so seldom that this is less
 * than about 1 % of the time, all are timed. Where they come quickly, a place in the program (a return
 * address and a function) whose last timed call was long is timed each time, and one whose calls are short
 * one time in RW_MEAN_DISTANCE, at random distances; that time counts for the calls between. So a long wait
 * at a place that has not waited yet is seen with that chance only, and `entered` is not set in it. Calls
 * that only ask are never all timed: while a rank waits with them they are all that it does.
 *
 * Iterations are told by the sequence of places, without calls that only ask (MPI_Test, ...): see progress.c.
 * Where all calls come through one place of a binding (Fortran, mpi4py), a place is a function, and the count
 * may be a multiple of the program's iterations.
 */
#ifndef RANKWISE_RECORD_TUNE_PROGRESS_H
#define RANKWISE_RECORD_TUNE_PROGRESS_H

#include "process/ticks.h"
#include "tune/page.h"

#define RW_SITES 256u
#define RW_RECENT 256u
#define RW_MEAN_DISTANCE 32u

/* For what few calls need: the others then keep nothing in registers for its sake. */
#define RW_COLD __attribute__((cold, noinline))

struct rw_tune_site {
    uintptr_t key;       /* 0: free */
    uint32_t calls;      /* since MPI_Init */
    uint16_t left;       /* calls that are not timed any more */
    uint16_t stands_for; /* calls that the next timed one counts for */
    uint64_t counted_to; /* as if all up to this moment had been calls: stays `most_apart` around the clock */
} __attribute__((aligned(32)));

struct rw_tune_state {
    struct rw_tune_site sites[RW_SITES];
    uint8_t recent[RW_RECENT];   /* sites of the last calls */
    uint64_t calls, epoch_end;   /* calls that do not only ask; when to look at them again */
    struct rw_tune_site *anchor; /* ends an iteration each time it has been called `every` times */
    uint32_t every, batch; /* short iterations are written in batches, for the time they ended costs more */
    uint32_t to_go;        /* calls until one is written */
    uint64_t anchor_at;    /* `calls` when it was called last */
    uint64_t random;
    uint64_t long_ticks, most_apart;
    int quick; /* calls come less than `long_ticks` apart, in the mean */
};

extern struct rw_tune_state rw_tune RW_HIDDEN;

struct rw_tune_thread {
    uintptr_t busy; /* frame of the outermost call, 0 outside */
    int started;    /* it is the thread that started MPI */
};
extern __thread struct rw_tune_thread rw_tune_thread RW_HIDDEN __attribute__((tls_model("initial-exec")));

RW_HIDDEN void rw_progress_start(void);
RW_HIDDEN RW_COLD void rw_progress_end_epoch(void);
RW_HIDDEN void rw_progress_end(void);
/** @brief `rw_tune.batch` iterations have ended; at 0: now. */
RW_HIDDEN RW_COLD void rw_progress_iterations(uint64_t at);
/** @brief The program says itself that an iteration has ended. */
RW_HIDDEN void rw_progress_pcontrol(void);
/** @brief The entry of a place that is not where it is looked for first. */
RW_HIDDEN RW_COLD struct rw_tune_site *rw_progress_find_site(uintptr_t key, unsigned first);
/** @brief The call at a place that began then has ended, and is timed; @return when. */
RW_HIDDEN RW_COLD uint64_t rw_progress_time(struct rw_tune_site *site, uint64_t begin, int waits, int polls);

/* One call, from its begin to its end. */
struct rw_tune_call {
    struct rw_tune_site *site; /* NULL: of another thread */
    uint64_t begin;            /* 0: not timed */
};

static inline struct rw_tune_call rw_tune_begin(uintptr_t frame, uintptr_t key, int waits) {
    rw_tune_thread.busy = frame;
    struct rw_tune_call call = {NULL, 0};
    if (RW_UNLIKELY(!rw_tune_thread.started))
        return call;
    const unsigned first = (unsigned)((uint64_t)key * 0x9e3779b97f4a7c15ull >> 56);
    call.site = &rw_tune.sites[first];
    if (RW_UNLIKELY(call.site->key != key))
        call.site = rw_progress_find_site(key, first);
    if (call.site->left > 0) {
        call.site->left--;
        return call;
    }
    call.begin = rw_ticks();
    if (waits)
        RW_PUT(rw_page->entered, call.begin);
    return call;
}

/* In all wrappers: a call of it would cost a tenth of what it does. */
static inline __attribute__((always_inline)) void rw_tune_end(struct rw_tune_call call, int waits,
                                                              int polls) {
    struct rw_tune_site *const site = call.site;
    uint64_t end = 0;
    if (RW_UNLIKELY(call.begin != 0))
        end = rw_progress_time(site, call.begin, waits, polls);
    /* A rank that asks while it waits calls the more often the longer it waits. */
    if (!polls) {
        RW_ADD_SHARED(rw_page->calls, 1);
        if (RW_LIKELY(site != NULL)) {
            site->calls++;
            rw_tune.recent[rw_tune.calls++ % RW_RECENT] = (uint8_t)(site - rw_tune.sites);
            if (site == rw_tune.anchor) {
                rw_tune.anchor_at = rw_tune.calls;
                if (RW_UNLIKELY(--rw_tune.to_go == 0))
                    rw_progress_iterations(end);
            }
            if (RW_UNLIKELY(rw_tune.calls >= rw_tune.epoch_end))
                rw_progress_end_epoch();
        }
    }
    rw_tune_thread.busy = 0;
}

#endif
