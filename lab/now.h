/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_LAB_NOW_H
#define RANKWISE_LAB_NOW_H

#include <stdint.h>
#include <time.h>

/** @brief Nanoseconds of the monotonic clock. */
static inline int64_t rw_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

#endif
