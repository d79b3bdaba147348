/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long does a collective take? A batch is a row of them; V1 is the time of one, on the rank for which the
 * batch took longest. The root of a broadcast moves on by one rank each time, so that no broadcast overtakes
 * the one before. BYTES is what a rank sends to one other, in a broadcast and an allreduce the whole vector.
 */
#include "measure.h"

#include <string.h>

static double per(double before, long messages) {
    return (measure_now() - before - measure_clock_cost()) / (double)messages;
}

static long one_vector(const struct measure_group *group) {
    return group->bytes;
}
static long vector_each(const struct measure_group *group) {
    return group->bytes * group->size;
}

/* Broadcast: all have rank 0's data after the first, and the later roots send it on. */
static void bcast_fill(struct measure_group *group, uint32_t seed) {
    if (group->rank == 0)
        measure_fill(group->receive, group->bytes, seed);
    else
        measure_spoil(group->receive, group->bytes);
}

static void bcast(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const double before = measure_now();
    for (long i = 0; i < messages; i++)
        MPI_Bcast(group->receive, (int)group->bytes, MPI_BYTE, (int)(i % group->size), group->comm);
    value[0] = per(before, messages);
}

static int bcast_arrived(struct measure_group *group, uint32_t seed) {
    return measure_matches(group->receive, group->bytes, seed);
}

/* Allreduce: sums of small whole numbers, exact in single precision. */
static float part(long i, uint32_t seed) {
    return (float)((i + seed) % 1000);
}

static void allreduce_fill(struct measure_group *group, uint32_t seed) {
    float *numbers = (float *)group->send;
    for (long i = 0; i < group->bytes / 4; i++)
        numbers[i] = part(i, seed) + (float)(group->rank % 16);
    memset(group->receive, 0x55, (size_t)group->bytes);
}

static void allreduce(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const double before = measure_now();
    for (long i = 0; i < messages; i++)
        MPI_Allreduce(group->send, group->receive, (int)(group->bytes / 4), MPI_FLOAT, MPI_SUM, group->comm);
    value[0] = per(before, messages);
}

static int allreduce_arrived(struct measure_group *group, uint32_t seed) {
    const float *sums = (const float *)group->receive;
    double ranks = 0;
    for (int r = 0; r < group->size; r++)
        ranks += r % 16;
    for (long i = 0; i < group->bytes / 4; i++) {
        const double wanted = (double)group->size * part(i, seed) + ranks, off = sums[i] - wanted;
        /* Beyond 2^24 sums are rounded. */
        if (off > 1e-4 * wanted + 0.1 || -off > 1e-4 * wanted + 0.1)
            return 0;
    }
    return 1;
}

/* All-to-all and allgather: a block for each rank, with its own content. */
static void alltoall_fill(struct measure_group *group, uint32_t seed) {
    for (int r = 0; r < group->size; r++) {
        measure_fill(group->send + r * group->bytes, group->bytes,
                     seed + (uint32_t)(group->rank * group->size + r));
        measure_spoil(group->receive + r * group->bytes, group->bytes);
    }
}

static void alltoall(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const int count = (int)group->bytes;
    const double before = measure_now();
    for (long i = 0; i < messages; i++)
        MPI_Alltoall(group->send, count, MPI_BYTE, group->receive, count, MPI_BYTE, group->comm);
    value[0] = per(before, messages);
}

static int alltoall_arrived(struct measure_group *group, uint32_t seed) {
    for (int r = 0; r < group->size; r++)
        if (!measure_matches(group->receive + r * group->bytes, group->bytes,
                             seed + (uint32_t)(r * group->size + group->rank)))
            return 0;
    return 1;
}

static void allgather_fill(struct measure_group *group, uint32_t seed) {
    measure_fill(group->send, group->bytes, seed + (uint32_t)group->rank);
    for (int r = 0; r < group->size; r++)
        measure_spoil(group->receive + r * group->bytes, group->bytes);
}

static void allgather(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const int count = (int)group->bytes;
    const double before = measure_now();
    for (long i = 0; i < messages; i++)
        MPI_Allgather(group->send, count, MPI_BYTE, group->receive, count, MPI_BYTE, group->comm);
    value[0] = per(before, messages);
}

static int allgather_arrived(struct measure_group *group, uint32_t seed) {
    for (int r = 0; r < group->size; r++)
        if (!measure_matches(group->receive + r * group->bytes, group->bytes, seed + (uint32_t)r))
            return 0;
    return 1;
}

static void barrier_fill(struct measure_group *group, uint32_t seed) {
    (void)group;
    (void)seed;
}

static void barrier(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    const double before = measure_now();
    for (long i = 0; i < messages; i++)
        MPI_Barrier(group->comm);
    value[0] = per(before, messages);
}

static int barrier_arrived(struct measure_group *group, uint32_t seed) {
    (void)group;
    (void)seed;
    return 1;
}

static const struct measure_group_test bcasts = {one_vector, bcast_fill, bcast, bcast_arrived, 0};
static const struct measure_group_test allreduces = {one_vector, allreduce_fill, allreduce, allreduce_arrived,
                                                     0};
static const struct measure_group_test alltoalls = {vector_each, alltoall_fill, alltoall, alltoall_arrived,
                                                    0};
static const struct measure_group_test allgathers = {vector_each, allgather_fill, allgather,
                                                     allgather_arrived, 0};
static const struct measure_group_test barriers = {one_vector, barrier_fill, barrier, barrier_arrived, 0};

const struct measure_test measure_bcast = {.name = "bcast", .repeats = 1, .group = &bcasts};
const struct measure_test measure_allreduce = {.name = "allreduce", .repeats = 1, .group = &allreduces};
const struct measure_test measure_alltoall = {.name = "alltoall", .repeats = 1, .group = &alltoalls};
const struct measure_test measure_allgather = {.name = "allgather", .repeats = 1, .group = &allgathers};
const struct measure_test measure_barrier = {.name = "barrier", .repeats = 1, .group = &barriers};
