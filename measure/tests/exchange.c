/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long does an exchange with both neighbours in a ring take? Each rank sends BYTES to either side and
 * receives as much from either; V1 is the time of one exchange on the rank for which the batch took longest.
 */
#include "measure.h"

enum { RIGHTWARD, LEFTWARD };

static long room(const struct measure_group *group) {
    return 2 * group->bytes;
}

static uint32_t seed_of(const struct measure_group *group, uint32_t seed, int rank, int way) {
    return seed + (uint32_t)((rank + group->size) % group->size * 2 + way);
}

static void fill(struct measure_group *group, uint32_t seed) {
    for (int way = RIGHTWARD; way <= LEFTWARD; way++) {
        measure_fill(group->send + way * group->bytes, group->bytes, seed_of(group, seed, group->rank, way));
        measure_spoil(group->receive + way * group->bytes, group->bytes);
    }
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const int right = (group->rank + 1) % group->size, left = (group->rank + group->size - 1) % group->size;
    const int count = (int)group->bytes;
    char *second_in = group->receive + group->bytes, *second_out = group->send + group->bytes;
    const double before = measure_now();
    for (long i = 0; i < messages; i++) {
        MPI_Request all[4];
        MPI_Irecv(group->receive, count, MPI_BYTE, left, MEASURE_TAG + RIGHTWARD, group->comm, &all[0]);
        MPI_Irecv(second_in, count, MPI_BYTE, right, MEASURE_TAG + LEFTWARD, group->comm, &all[1]);
        MPI_Isend(group->send, count, MPI_BYTE, right, MEASURE_TAG + RIGHTWARD, group->comm, &all[2]);
        MPI_Isend(second_out, count, MPI_BYTE, left, MEASURE_TAG + LEFTWARD, group->comm, &all[3]);
        MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
    }
    value[0] = (measure_now() - before - measure_clock_cost()) / (double)messages;
}

static int arrived(struct measure_group *group, uint32_t seed) {
    return measure_matches(group->receive, group->bytes, seed_of(group, seed, group->rank - 1, RIGHTWARD)) &&
           measure_matches(group->receive + group->bytes, group->bytes,
                           seed_of(group, seed, group->rank + 1, LEFTWARD));
}

static const struct measure_group_test exchanges = {room, fill, batch, arrived, 0};
const struct measure_test measure_exchange = {.name = "exchange", .repeats = 1, .group = &exchanges};
