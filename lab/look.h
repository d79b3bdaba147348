/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_LAB_LOOK_H
#define RANKWISE_LAB_LOOK_H

#include <stdint.h>
#include <time.h>

/* The shortest sleep: the timer slack, which the lab sets. */
enum { RW_SHORTEST_NS = 1 };

/** @brief This thread has looked for messages: it sleeps if that was the sixth time (look.c). */
void rw_look_or_sleep(void);

/**
 * @brief MPI wants to give up the core: does a poll count that as its own look (poll.c)?
 * @return 1 the first time inside a poll, else 0.
 */
int rw_counted_by_poll(void);

/** @brief Nanoseconds of the monotonic clock. */
static inline int64_t rw_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/** @brief This thread begins a look for messages now (usage.c). */
void rw_count_look(int64_t now_ns);

/** @brief This thread has slept because a look found nothing (usage.c). */
void rw_count_sleep(int64_t began_ns, int64_t ended_ns);

#endif
