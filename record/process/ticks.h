/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_TICKS_H
#define RANKWISE_RECORD_TICKS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t rw_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Times in a trace are in units of 2^this ticks, which are 4 to 8 ns here; slower counters are taken as they
 * are. */
#if defined(__x86_64__)
#define RW_UNIT_SHIFT 4u
#else
#define RW_UNIT_SHIFT 0u
#endif

/**
 * @brief The cheapest counter that runs at a constant rate: 6 to 20 ns, where clock_gettime takes 20 to 40.
 *
 * Its rate is not known here; recordings relate it to the clocks at two moments.
 */
static inline uint64_t rw_ticks(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return rw_clock_ns(CLOCK_MONOTONIC);
#endif
}

#endif
