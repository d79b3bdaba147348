/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for lists of a few words a rank. */
#ifndef RANKWISE_WORKLOADS_PATTERNS_ROOM_H
#define RANKWISE_WORKLOADS_PATTERNS_ROOM_H

#include <stdio.h>
#include <stdlib.h>

/* @return room for `count` elements, all 0, to be freed; ends the process if there is none */
static inline void *room(size_t count, size_t bytes) {
    void *found = calloc(count ? count : 1, bytes);
    if (found == NULL) {
        fputs("error: there is no memory for a workload's lists\n", stderr);
        abort();
    }
    return found;
}

#endif
