/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the rank gets on: time in MPI, and iterations. Of the thread that started MPI alone; calls of others
 * are not counted.
 *
 * Two readings of the tick counter cost more than all the rest. A place in the program (a return address and
 * a function) whose last timed call was long is timed each time; one whose calls are short is timed one time
 * in eight, at random distances, and that time counts for the calls between.
 */
#ifndef RANKWISE_RECORD_TUNE_PROGRESS_H
#define RANKWISE_RECORD_TUNE_PROGRESS_H

#include "process/ticks.h"
#include "tune/page.h"

#define RW_SITES 256u
#define RW_MEAN_DISTANCE 16u

struct rw_tune_site {
    uintptr_t key;       /* 0: free */
    uint32_t calls;      /* in this epoch */
    uint16_t left;       /* calls that are not timed any more */
    uint16_t stands_for; /* calls that the next timed one counts for */
    uint64_t timed;      /* ticks at the end of the last timed one */
};

struct rw_tune_state {
    uintptr_t busy; /* frame of the outermost call, 0 outside */
    struct rw_tune_site sites[RW_SITES];
    struct rw_tune_site *anchor; /* each of its calls ends an iteration */
    uintptr_t anchor_key;
    uint32_t epoch, epoch_calls; /* calls that are counted in an epoch, and so far */
    uint64_t random;
    uint64_t long_ticks;
};

extern struct rw_tune_state rw_tune RW_HIDDEN;
/* 1 in the thread that started MPI. */
extern __thread int rw_tune_counts RW_HIDDEN __attribute__((tls_model("initial-exec")));

RW_HIDDEN void rw_progress_start(void);
RW_HIDDEN void rw_progress_end_epoch(void);
RW_HIDDEN void rw_progress_iteration(enum rw_tune_known_by known_by, uint64_t at);

/* One call, from its begin to its end. */
struct rw_tune_call {
    struct rw_tune_site *site;
    uint64_t begin; /* 0: not timed */
};

/** @brief The entry of a place, which takes it from another one with its number. */
static inline struct rw_tune_site *rw_tune_site_of(uintptr_t key) {
    struct rw_tune_site *const site = &rw_tune.sites[(uint64_t)key * 0x9e3779b97f4a7c15ull >> 56];
    if (RW_UNLIKELY(site->key != key)) {
        *site = (struct rw_tune_site){.key = key, .stands_for = 1};
        if (site == rw_tune.anchor)
            rw_tune.anchor = NULL;
        if (key == rw_tune.anchor_key)
            rw_tune.anchor = site;
    }
    return site;
}

static inline struct rw_tune_call rw_tune_begin(uintptr_t frame, uintptr_t key, int waits) {
    rw_tune.busy = frame;
    struct rw_tune_call call = {rw_tune_site_of(key), 0};
    if (call.site->left > 0) {
        call.site->left--;
        return call;
    }
    call.begin = rw_ticks();
    if (waits)
        RW_PUT(rw_page->entered, call.begin);
    return call;
}

static inline void rw_tune_end(struct rw_tune_call call, int waits, int polls) {
    struct rw_tune_site *const site = call.site;
    uint64_t end = 0;
    if (call.begin) {
        end = rw_ticks();
        const uint64_t ticks = end - call.begin, since = end - site->timed;
        uint64_t counted = ticks * site->stands_for;
        if (counted > since) /* no more than has passed */
            counted = since > ticks ? since : ticks;
        RW_ADD(rw_page->mpi_ticks, counted);
        if (waits) {
            RW_ADD(rw_page->wait_ticks, counted);
            RW_PUT(rw_page->entered, 0);
        }
        site->timed = end;
        if (ticks < rw_tune.long_ticks) {
            rw_tune.random = rw_tune.random * 6364136223846793005ull + 1442695040888963407ull;
            site->left = (uint16_t)((rw_tune.random >> 33) % (2 * RW_MEAN_DISTANCE - 1));
            site->stands_for = RW_MEAN_DISTANCE;
        } else {
            site->left = 0;
            site->stands_for = 1;
        }
    }
    RW_ADD(rw_page->calls, 1);
    if (!polls) {
        site->calls++;
        if (site == rw_tune.anchor && rw_page->known_by == RW_TUNE_BY_PATTERN)
            rw_progress_iteration(RW_TUNE_BY_PATTERN, end);
        if (RW_UNLIKELY(++rw_tune.epoch_calls >= rw_tune.epoch))
            rw_progress_end_epoch();
    }
    rw_tune.busy = 0;
}

#endif
