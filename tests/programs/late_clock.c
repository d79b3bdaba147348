/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that loses its core as it is about to read CLOCK_MONOTONIC: two times of three, for a time of its
 * own each. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static __thread unsigned readings;
    if (clock == CLOCK_MONOTONIC) {
        const long long until = now_ns() + readings++ % 3 * 4000000LL;
        while (now_ns() < until)
            ;
    }
    return (int)syscall(SYS_clock_gettime, clock, time);
}
