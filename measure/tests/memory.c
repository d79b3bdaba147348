/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do k ranks get together out of the caches and the memory that they share? Each streams through BYTES
 * of its own, half of it read and half written, all at the same time. V1 is what they moved together in
 * bytes/s, in a window that lies inside the time in which all do it.
 */
#include "measure.h"

#include <string.h>

#define PIECE 16384

static long room(const struct measure_group *group) {
    return group->bytes / 2 + PIECE;
}

static void fill(struct measure_group *group, uint32_t seed) {
    measure_fill(group->send, group->bytes / 2, seed + (uint32_t)group->rank);
    memset(group->receive, 0, (size_t)(group->bytes / 2));
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    (void)messages;
    const double length = group->step->batch_s, start = measure_now();
    const long half = group->bytes / 2;
    double from = 0, to = 0;
    long moved = 0;
    for (long at = 0;; at = at + PIECE < half ? at + PIECE : 0) {
        const double now = measure_now();
        if (now - start > 0.25 * length && from == 0)
            from = now;
        if (now - start > 1.25 * length && to == 0)
            to = now;
        if (now - start > 1.5 * length)
            break;
        const long piece = half - at < PIECE ? half - at : PIECE;
        memcpy(group->receive + at, group->send + at, (size_t)piece);
        moved += from != 0 && to == 0 ? 2 * piece : 0;
    }
    value[0] = to > from ? (double)moved / (to - from) : 0;
}

/* As much as was reached; windows may be too short to come round. */
static int arrived(struct measure_group *group, uint32_t seed) {
    (void)seed;
    const long first = group->bytes / 2 < PIECE ? group->bytes / 2 : PIECE;
    return !memcmp(group->receive, group->send, (size_t)first);
}

static const struct measure_group_test memories = {room, fill, batch, arrived, 1};
const struct measure_test measure_memory = {.name = "memory", .group = &memories};
