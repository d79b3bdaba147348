/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does it gain to process data in tiles that fit a cache? Each rank has BYTES of data, which it computes
 * on, sends to its right neighbour and takes over from its left one, `messages` times over: with all its data
 * at a time (SETTING 0), or tile after tile of SETTING bytes, each through all rounds, so that it stays in
 * the cache (section 5.4 of L. Chai, Q. Gao, D. K. Panda, Understanding the Impact of Multi-Core Architecture
 * in Cluster Computing, CCGrid 2007). V1 is the time of all, V2 what of it was computation.
 */
#include "measure.h"

#include <string.h>

static long room(const struct measure_group *group) {
    return group->bytes;
}

static void fill(struct measure_group *group, uint32_t seed) {
    measure_fill(group->send, group->bytes, seed + (uint32_t)group->rank);
    measure_spoil(group->receive, group->bytes);
}

static void compute(char *data, long bytes) {
    uint32_t *words = (uint32_t *)data;
    for (long i = 0; i < bytes / 4; i++)
        words[i] = words[i] * 5 + 1;
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const int right = (group->rank + 1) % group->size, left = (group->rank + group->size - 1) % group->size;
    const long tile = group->step->setting > 0 ? group->step->setting : group->bytes;
    const double before = measure_now();
    for (long at = 0; at < group->bytes; at += tile) {
        const long length = group->bytes - at < tile ? group->bytes - at : tile;
        char *mine = group->send + at, *next = group->receive + at;
        for (long i = 0; i < messages; i++) {
            const double start = measure_now();
            compute(mine, length);
            value[1] += measure_now() - start - measure_clock_cost();
            MPI_Sendrecv(mine, (int)length, MPI_BYTE, right, MEASURE_TAG, next, (int)length, MPI_BYTE, left,
                         MEASURE_TAG, group->comm, MPI_STATUS_IGNORE);
            char *other = mine;
            mine = next;
            next = other;
        }
    }
    value[0] = measure_now() - before - measure_clock_cost();
}

/* What the rank `messages` to the left had, computed on as often. */
static int arrived(struct measure_group *group, uint32_t seed) {
    const long rounds = group->step->messages;
    char *got = rounds % 2 ? group->receive : group->send,
         *wanted = rounds % 2 ? group->send : group->receive;
    const long origin = ((group->rank - rounds) % group->size + group->size) % group->size;
    measure_fill(wanted, group->bytes, seed + (uint32_t)origin);
    for (long i = 0; i < rounds; i++)
        compute(wanted, group->bytes);
    return !memcmp(got, wanted, (size_t)(group->bytes / 4 * 4));
}

static const struct measure_group_test rings = {room, fill, batch, arrived, 0};
const struct measure_test measure_tiled_ring = {.name = "tiled_ring", .group = &rings};
