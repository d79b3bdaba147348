/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once
#include <stdint.h>
#include <time.h>

static double moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Some 10 us a unit; the value is used, so that no compiler leaves the work out. */
static uint64_t compute(long units, uint64_t state) {
    for (long step = 0; step < units * 4000; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}
