/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/progress.h"

/* The body of a loop that makes more calls than this is none: what it repeats inside is taken instead. */
#define MOST_CALLS 64u
#define FIRST_EPOCH 64u
#define LONGEST_EPOCH 2048u
#define LONG_CALL_S 2e-6

struct rw_tune_state rw_tune;
__thread int rw_tune_counts __attribute__((tls_model("initial-exec")));

void rw_progress_start(void) {
    rw_tune.epoch = FIRST_EPOCH;
    rw_tune.random = (uint64_t)rw_page->rank + 1;
    rw_tune.long_ticks = (uint64_t)(LONG_CALL_S * rw_page->ticks_per_s);
    rw_tune_counts = 1;
}

void rw_progress_iteration(enum rw_tune_known_by known_by, uint64_t at) {
    if (known_by != (enum rw_tune_known_by)rw_page->known_by) {
        RW_PUT(rw_page->known_by, known_by);
        RW_ADD(rw_page->anchor, 1);
    }
    RW_ADD(rw_page->iterations, 1);
    RW_PUT(rw_page->iteration_ticks, at ? at : rw_ticks());
}

/*
 * The place that is called least often, of those that are called every MOST_CALLS calls or more: the
 * outermost loop that is not too long. One that has been taken stays while it recurs at half of that.
 */
void rw_progress_end_epoch(void) {
    uint64_t calls = 0;
    struct rw_tune_site *best = NULL;
    for (unsigned at = 0; at < RW_SITES; at++)
        calls += rw_tune.sites[at].calls;
    for (unsigned at = 0; at < RW_SITES; at++) {
        struct rw_tune_site *const site = &rw_tune.sites[at];
        if (site->calls >= 3 && site->calls * (uint64_t)MOST_CALLS >= calls &&
            (!best || site->calls < best->calls))
            best = site;
    }
    const struct rw_tune_site *const anchor = rw_tune.anchor;
    if (anchor && anchor->calls >= 2 && anchor->calls * (uint64_t)(2 * MOST_CALLS) >= calls)
        best = NULL;
    if (best) {
        rw_tune.anchor = best;
        rw_tune.anchor_key = best->key;
        RW_ADD(rw_page->anchor, 1);
        if (rw_page->known_by == RW_TUNE_NOT_KNOWN) {
            /* What came before is of the same loop, if it is one. */
            RW_PUT(rw_page->known_by, RW_TUNE_BY_PATTERN);
            RW_PUT(rw_page->iterations, best->calls);
            RW_PUT(rw_page->iteration_ticks, rw_ticks());
        }
    }
    for (unsigned at = 0; at < RW_SITES; at++)
        rw_tune.sites[at].calls = 0;
    rw_tune.epoch_calls = 0;
    if (rw_tune.epoch < LONGEST_EPOCH)
        rw_tune.epoch *= 2;
}
