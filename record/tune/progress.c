/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an iteration is, from the places that the last calls came from.
 *
 * If the newer half of them, at least, repeats with a period of MOST_CALLS or fewer calls, three times or
 * more, that is an iteration: with loops in loops the longest body that all of them fit into. If nothing
 * repeats exactly, as where an inner loop runs until it has converged, an iteration is from one call to the
 * next of the place that is called least often, of those called every MOST_CALLS calls or more.
 *
 * Either is counted by one place that is called in it, the anchor. In the first thousands of calls it gives
 * way to one of a longer iteration; then it stays until it has not been called for RW_RECENT calls: another
 * phase has begun, whose iterations are counted on from those of the last.
 */
#include "tune/progress.h"

#include <string.h>

#define MOST_CALLS 64u
#define LEAST_REPEATS 3u
#define FIRST_EPOCH 32u
#define LONGEST_EPOCH 1024u
#define LONG_CALL_S 2e-6
#define LONG_CALLS_OF_BATCH 10u
#define LARGEST_BATCH 16u

struct rw_tune_state rw_tune;
__thread struct rw_tune_thread rw_tune_thread __attribute__((tls_model("initial-exec")));

static uint64_t epoch, phase_began, iterations_before;
static uint64_t paced_calls, paced_at;
static double calls_of_iteration;

void rw_progress_start(void) {
    epoch = rw_tune.epoch_end = FIRST_EPOCH;
    rw_tune.random = (uint64_t)rw_page->rank + 1;
    rw_tune.long_ticks = (uint64_t)(LONG_CALL_S * rw_page->ticks_per_s);
    rw_tune.most_apart = rw_tune.long_ticks * RW_MEAN_DISTANCE * RW_MEAN_DISTANCE;
    paced_at = rw_ticks();
    rw_tune_thread.started = 1;
}

struct rw_tune_site *rw_progress_find_site(uintptr_t key, unsigned first) {
    struct rw_tune_site *taken = NULL;
    for (unsigned other = 0; other < 8; other++) {
        struct rw_tune_site *const site = &rw_tune.sites[first ^ other];
        if (site->key == key)
            return site;
        if (site != rw_tune.anchor && (!taken || site->calls < taken->calls))
            taken = site;
    }
    *taken = (struct rw_tune_site){.key = key, .stands_for = 1};
    return taken;
}

uint64_t rw_progress_time(struct rw_tune_site *site, uint64_t begin, int waits, int polls) {
    const uint64_t end = rw_ticks(), ticks = end - begin, earliest = begin - rw_tune.most_apart;
    const uint64_t from = site->counted_to > earliest ? site->counted_to : earliest;
    const uint64_t room = end + rw_tune.most_apart - from;
    const uint64_t counted = ticks * site->stands_for < room ? ticks * site->stands_for : room;
    site->counted_to = from + counted;
    RW_ADD(rw_page->mpi_ticks, counted);
    if (waits) {
        RW_ADD(rw_page->wait_ticks, counted);
        RW_PUT(rw_page->entered, 0);
    }
    if (ticks < rw_tune.long_ticks && (polls || rw_tune.quick)) {
        rw_tune.random = rw_tune.random * 6364136223846793005ull + 1442695040888963407ull;
        site->left = (uint16_t)((rw_tune.random >> 33) % (2 * RW_MEAN_DISTANCE - 1));
        site->stands_for = RW_MEAN_DISTANCE;
    } else {
        site->left = 0;
        site->stands_for = 1;
    }
    return end;
}

static void write_iterations(uint64_t more, uint64_t at) {
    RW_ADD(rw_page->iterations, more);
    RW_PUT(rw_page->iteration_ticks, at);
}

void rw_progress_iterations(uint64_t at) {
    const uint64_t now = at ? at : rw_ticks();
    const uint64_t took = now - rw_page->iteration_ticks;
    const uint64_t room = rw_tune.long_ticks * LONG_CALLS_OF_BATCH * rw_tune.batch;
    write_iterations(rw_tune.batch, now);
    /* As many as fit into that time, without a division where they are short. */
    rw_tune.batch = room >= took * LARGEST_BATCH ? LARGEST_BATCH : room < took ? 1 : (uint32_t)(room / took);
    rw_tune.to_go = rw_tune.every * rw_tune.batch;
}

static void write_begun_batch(void) {
    if (rw_tune.anchor && rw_tune.batch > 1)
        write_iterations((rw_tune.every * rw_tune.batch - rw_tune.to_go) / rw_tune.every, rw_ticks());
}

void rw_progress_pcontrol(void) {
    if (rw_page->known_by != RW_TUNE_BY_PCONTROL) {
        rw_tune.anchor = NULL;
        RW_PUT(rw_page->iterations, 0);
        RW_ADD(rw_page->anchor, 1);
        RW_PUT(rw_page->known_by, RW_TUNE_BY_PCONTROL);
    }
    write_iterations(1, rw_ticks());
}

struct iteration {
    struct rw_tune_site *anchor; /* NULL: none was found */
    uint32_t every;
    double calls;
};

/* The place that is called least often in `recent`, with at least `least` calls. */
static struct iteration rarest(const uint8_t *recent, unsigned count, unsigned least) {
    unsigned calls[RW_SITES] = {0};
    struct iteration found = {NULL, 0, 0};
    for (unsigned at = 0; at < count; at++)
        calls[recent[at]]++;
    for (unsigned at = 0; at < RW_SITES; at++)
        if (calls[at] >= least && (!found.anchor || calls[at] < found.every))
            found = (struct iteration){&rw_tune.sites[at], calls[at], count};
    return found;
}

static struct iteration find_iteration(void) {
    uint8_t recent[RW_RECENT]; /* the last one first */
    const unsigned count = rw_tune.calls < RW_RECENT ? (unsigned)rw_tune.calls : RW_RECENT;
    for (unsigned at = 0; at < count; at++)
        recent[at] = rw_tune.recent[(rw_tune.calls - 1 - at) % RW_RECENT];
    for (unsigned period = 1; period <= MOST_CALLS && LEAST_REPEATS * period <= count; period++) {
        unsigned repeats = period;
        while (repeats < count && recent[repeats] == recent[repeats - period])
            repeats++;
        if (repeats >= LEAST_REPEATS * period && 2 * repeats >= count)
            return rarest(recent, period, 1);
    }
    const unsigned least = count / MOST_CALLS > LEAST_REPEATS ? count / MOST_CALLS : LEAST_REPEATS;
    struct iteration found = rarest(recent, count, least);
    if (found.anchor) {
        found.calls /= found.every;
        found.every = 1;
    }
    return found;
}

static void take(const struct iteration *found, uint64_t iterations) {
    calls_of_iteration = found->calls;
    rw_tune.anchor = found->anchor;
    rw_tune.every = rw_tune.to_go = found->every;
    rw_tune.batch = 1;
    rw_tune.anchor_at = rw_tune.calls;
    RW_PUT(rw_page->iterations, iterations);
    RW_PUT(rw_page->iteration_ticks, rw_ticks());
    RW_ADD(rw_page->anchor, 1);
    RW_PUT(rw_page->known_by, RW_TUNE_BY_PATTERN);
}

static void look_at_pace(void) {
    const uint64_t now = rw_ticks(), calls = rw_tune.calls - paced_calls;
    rw_tune.quick = now - paced_at < calls * rw_tune.long_ticks;
    paced_calls = rw_tune.calls;
    paced_at = now;
}

static void look_for_iterations(void) {
    const uint64_t silent = rw_tune.calls - rw_tune.anchor_at;
    const int phase_over = rw_tune.anchor && silent > RW_RECENT;
    if (!rw_tune.anchor || epoch < LONGEST_EPOCH || phase_over) {
        const struct iteration found = find_iteration();
        /* One that has the anchor in it, and more. */
        const int longer = found.calls >= calls_of_iteration + 1 && (double)silent <= found.calls;
        if (found.anchor && phase_over) {
            write_begun_batch();
            phase_began = rw_tune.anchor_at;
            iterations_before = rw_page->iterations;
            epoch = FIRST_EPOCH;
        }
        if (found.anchor && (!rw_tune.anchor || phase_over || longer)) {
            /* Where nothing was counted yet, the place says how often it was called. */
            const uint64_t before = phase_began
                                        ? (uint64_t)((double)(rw_tune.calls - phase_began) / found.calls)
                                        : found.anchor->calls / found.every;
            take(&found, iterations_before + before);
        }
    }
}

void rw_progress_end_epoch(void) {
    look_at_pace();
    if (rw_page->known_by != RW_TUNE_BY_PCONTROL)
        look_for_iterations();
    if (epoch < LONGEST_EPOCH)
        epoch *= 2;
    rw_tune.epoch_end = rw_tune.calls + epoch;
}

void rw_progress_end(void) {
    rw_progress_end_epoch();
    write_begun_batch();
}
