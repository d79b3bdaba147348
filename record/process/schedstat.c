/* SPDX-License-Identifier: BSD-3-Clause */
#include "process/schedstat.h"

#include <fcntl.h>
#include <unistd.h>

int rw_read_schedstat(uint64_t *cpu_ns, uint64_t *wait_ns) {
    char text[128];
    int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return -1;
    uint64_t values[2] = {0, 0};
    unsigned value = 0;
    for (ssize_t i = 0; i < length && value < 2; i++) {
        if (text[i] >= '0' && text[i] <= '9')
            values[value] = values[value] * 10 + (uint64_t)(text[i] - '0');
        else
            value++;
    }
    *cpu_ns = values[0];
    *wait_ns = values[1];
    return 0;
}
