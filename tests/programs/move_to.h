/* SPDX-License-Identifier: BSD-3-Clause */
/* The calling thread on one PU; needs _GNU_SOURCE. */
#ifndef RANKWISE_TESTS_MOVE_TO_H
#define RANKWISE_TESTS_MOVE_TO_H

#include <sched.h>
#include <stdlib.h>

static void move_to(int pu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        exit(3);
}

#endif
