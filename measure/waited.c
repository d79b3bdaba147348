/* SPDX-License-Identifier: BSD-3-Clause */
/* How long this rank could run and had no core: the kernel's run delay. */
#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static double delay_s(void) {
    static int file = -2;
    char text[128];
    unsigned long long delay;
    if (file == -2)
        file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
    if (length <= 0)
        return -1;
    text[length] = 0;
    return sscanf(text, "%*u %llu", &delay) == 1 ? 1e-9 * (double)delay : -1;
}

struct measure_moment measure_moment(void) {
    return (struct measure_moment){.waited = delay_s(), .time = measure_now()};
}

double measure_waited(struct measure_moment before) {
    const struct measure_moment now = measure_moment();
    const double took = now.time - before.time;
    if (before.waited < 0 || now.waited < before.waited || took <= 0)
        return -1;
    const double part = (now.waited - before.waited) / took;
    return part < 1 ? part : 1;
}
