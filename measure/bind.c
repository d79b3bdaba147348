/* SPDX-License-Identifier: BSD-3-Clause */
/* The core a rank measures on, always one of those its launcher allowed. */
#include "measure.h"

#include <sched.h>
#include <stdio.h>

static cpu_set_t launched;
static int moved;

void measure_bind(const struct measure_step *step, int pair, int role) {
    if (pair >= step->bound)
        return;
    const int core = role ? step->core_to[pair] : step->core_from[pair];
    cpu_set_t one;
    CPU_ZERO(&one);
    if (core < 0 || core >= CPU_SETSIZE)
        return;
    CPU_SET(core, &one);
    if (sched_getaffinity(0, sizeof launched, &launched) || !CPU_ISSET(core, &launched) ||
        sched_setaffinity(0, sizeof one, &one)) {
        fprintf(stderr, "rankwise-measure: core %d is not one this rank may use\n", core);
        measure_die(5);
    }
    moved = 1;
}

void measure_unbind(void) {
    if (moved)
        sched_setaffinity(0, sizeof launched, &launched);
    moved = 0;
}
