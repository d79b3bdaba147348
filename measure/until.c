/* SPDX-License-Identifier: BSD-3-Clause */
/* When repetition ends, and whether larger messages are worth beginning. */
#include "measure.h"

#include <stdlib.h>

#define BYTES_COUNT 4096 /* from here on, roughly */
#define GIVE_UP_AFTER 5  /* points without any: the ranks share a core, or might as well */

static int fruitless; /* points since the last that had a sample nobody interrupted */

void measure_until_begin(struct measure_until *until, const struct measure_step *step, long bytes) {
    *until = (struct measure_until){
        .step = step, .bytes = bytes, .messages = 1, .start = measure_now(), .shortest = {1e9, 1e9}};
    until->patience = fruitless < GIVE_UP_AFTER ? step->patience : 1;
    until->clean = malloc((size_t)step->most * sizeof *until->clean);
    until->all = malloc((size_t)step->most * sizeof *until->all);
    if (!until->clean || !until->all)
        MPI_Abort(MPI_COMM_WORLD, 4);
}

const char *measure_until_took(struct measure_until *until, double took, long switches) {
    const struct measure_step *step = until->step;
    until->all[until->count++] = took;
    for (int i = 0; i < (switches ? 1 : 2); i++)
        until->shortest[i] = took < until->shortest[i] ? took : until->shortest[i];
    if (!switches)
        until->clean[until->cleans++] = took;
    if (until->count >= step->most)
        return "count";
    if (until->count < MEASURE_LEAST_EVER)
        return NULL;
    const double spent = measure_now() - until->start;
    if (spent > step->budget_s &&
        (until->cleans >= MEASURE_LEAST_EVER || spent > until->patience * step->budget_s))
        return "budget";
    if (until->count < step->least)
        return NULL;
    const int narrow = until->cleans >= step->least
                           ? measure_narrow(until->clean, until->cleans, step->precision)
                           : measure_narrow(until->all, until->count, step->precision);
    return narrow ? "interval" : NULL;
}

/*
 * How much longer a batch of the next size takes: in proportion to bytes, where these count, but for what
 * fewer messages make good; 0 if there is none.
 */
static double growth(const struct measure_until *until) {
    const struct measure_step *step = until->step;
    const long bytes = until->bytes;
    for (int i = 0; i + 1 < step->sizes; i++)
        if (step->bytes[i] == bytes) {
            const double larger = (double)step->bytes[i + 1] /
                                  (double)(bytes > BYTES_COUNT ? bytes : BYTES_COUNT) /
                                  (double)until->messages;
            return larger > 1 ? larger : 1;
        }
    return 0;
}

/*
 * Whether the least samples of the next size fit what the step may take for a size. What other programs took
 * from this point says little about the next, so of points that were always interrupted only as much counts
 * as the growth of the message since the size before explains; of the first ones, nothing.
 */
static int next_fits(const struct measure_until *until, double shortest, int interrupted, int patient) {
    static struct {
        int step;
        long bytes;
        double took;
    } before; /* the last size whose time is known */
    const struct measure_step *step = until->step;
    /* What may be left out does not begin where it would end too late, whoever interrupts. */
    if (!measure_in_time(step, (MEASURE_LEAST_EVER + 1) * shortest * growth(until)))
        return 0;
    const int first = before.step != step->number || before.bytes <= 0;
    if (interrupted && first && patient)
        return 1;
    if (interrupted && !first) {
        const double explained = before.took * (double)until->bytes / (double)before.bytes;
        shortest = shortest < explained ? shortest : explained;
    }
    before.step = step->number;
    before.bytes = until->bytes;
    before.took = shortest;
    const double room = step->budget_s > step->longest_s ? step->budget_s : step->longest_s;
    return (MEASURE_LEAST_EVER + 1) * shortest < room;
}

int measure_until_end(struct measure_until *until) {
    fruitless = until->cleans ? 0 : fruitless + 1;
    free(until->clean);
    free(until->all);
    return next_fits(until, until->shortest[until->cleans > 0], !until->cleans, fruitless < GIVE_UP_AFTER);
}
