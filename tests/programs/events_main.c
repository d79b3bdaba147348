/* SPDX-License-Identifier: BSD-3-Clause */
/* events NAME...: type and config that the recorder asks perf_event for, or why there is none, a line each.
 */
#include <stdio.h>

#include "counters/perf_events.h"

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        struct perf_event_attr event;
        const char *why = rw_perf_event(argv[i], &event);
        if (why)
            printf("%s\n", why);
        else
            printf("%u 0x%llx\n", event.type, (unsigned long long)event.config);
    }
    return 0;
}
