/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank that waits gives its core up: it has looked for messages and found none (look.c). */
#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "look.h"

__attribute__((visibility("default"))) int sched_yield(void) {
    if (!rw_counted_by_poll())
        rw_look_or_sleep();
    return 0;
}

__attribute__((visibility("default"))) int nanosleep(const struct timespec *span, struct timespec *left) {
    if (span && span->tv_sec == 0 && span->tv_nsec == RW_SHORTEST_NS) {
        if (!rw_counted_by_poll())
            rw_look_or_sleep();
        return 0;
    }
    const int error = clock_nanosleep(CLOCK_REALTIME, 0, span, left);
    if (!error)
        return 0;
    errno = error;
    return -1;
}
