/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel counts of the process: processor time, faults, context switches, peak memory. */
#include <string.h>
#include <sys/resource.h>

#include "counters/sources.h"

static void open_usage(struct rw_series *series) {
    static const char *const names[] = {"user_ns",
                                        "system_ns",
                                        "minor_faults",
                                        "major_faults",
                                        "voluntary_switches",
                                        "involuntary_switches",
                                        "peak_memory_kib",
                                        NULL};
    rw_add_each(series, names);
}

static uint64_t ns(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static void read_usage(uint64_t *values) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    const uint64_t now[] = {ns(usage.ru_utime),        ns(usage.ru_stime),       (uint64_t)usage.ru_minflt,
                            (uint64_t)usage.ru_majflt, (uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw,
                            (uint64_t)usage.ru_maxrss};
    memcpy(values, now, sizeof now);
}

const struct rw_source rw_usage = {open_usage, read_usage};
