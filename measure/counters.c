/* SPDX-License-Identifier: BSD-3-Clause */
/* Cache misses of this thread, where the kernel offers hardware counters. */
#include "measure.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

double measure_cache_misses(void) {
    static int counter = -2;
    uint64_t misses;
    if (counter == -2) {
        struct perf_event_attr what;
        memset(&what, 0, sizeof what);
        what.size = sizeof what;
        what.type = PERF_TYPE_HARDWARE;
        what.config = PERF_COUNT_HW_CACHE_MISSES;
        what.exclude_kernel = 1;
        counter = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
    }
    return counter >= 0 && read(counter, &misses, sizeof misses) == sizeof misses ? (double)misses : -1;
}
