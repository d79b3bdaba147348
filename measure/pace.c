/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping to the time of a launch. Points take longer than planned where other programs have the cores, and
 * where a few messages take long. What is lost is saved on all points that are still to come, in equal parts.
 */
#include "measure.h"

#define LEAST 0.1 /* of its plan is spent on each point, however late it is */
#define LEAST_OF_LONGEST 0.5

static double start = -1;

void measure_pace_start(void) {
    start = measure_now();
}

double measure_elapsed(void) {
    return measure_now() - start;
}

int measure_in_time(const struct measure_step *step, double seconds) {
    return step->skip_s <= 0 || start < 0 || measure_now() - start + seconds <= step->skip_s;
}

int measure_pace(const struct measure_step *step, int at) {
    const double elapsed = measure_now() - start;
    if (step->skip_s > 0 && elapsed > step->skip_s)
        return 0;
    const double planned = step->planned_s - at * step->budget_s;
    const double part = planned > 0 ? (step->due_s - elapsed) / planned : 1;
    return (int)(MEASURE_PACES * (part < LEAST ? LEAST : part > 1 ? 1 : part));
}

const struct measure_step *measure_paced(const struct measure_step *step, int pace) {
    static struct measure_step paced;
    const double part = (double)pace / MEASURE_PACES;
    paced = *step;
    paced.budget_s *= part;
    /* Without long messages there is no bandwidth; and less time is no reason to leave a step's further sizes
     * out. */
    paced.longest_s *= part > LEAST_OF_LONGEST ? part : LEAST_OF_LONGEST;
    if (paced.longest_s < step->budget_s)
        paced.longest_s = step->budget_s;
    paced.patience = part * step->patience > 1 ? part * step->patience : 1;
    return &paced;
}
