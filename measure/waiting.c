/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do ranks that wait take of a core on which another computes? Rank 0 of the group computes for
 * `batch_s`, without MPI, as long as that takes by the clock: on a shared core nobody knows beforehand how
 * much gets done. The others, on the same core, wait for its message in a blocking receive. V1 is how long
 * the computation took, V2 its processor time, V3 the part of a core that one waiting rank used meanwhile,
 * the mean of them. A library that spins while it waits uses what the kernel gives it; one that sleeps
 * between looks for a message uses less.
 */
#include "measure.h"

#define PIECE_S 100e-6

static long room(const struct measure_group *group) {
    (void)group;
    return 1;
}

static void fill(struct measure_group *group, uint32_t seed) {
    group->send[0] = (char)seed;
    group->receive[0] = (char)~seed;
}

static void compute(struct measure_group *group, double value[MEASURE_VALUES]) {
    const long piece = measure_work_for(PIECE_S) + 1;
    const double cpu = measure_cpu_now(), before = measure_now();
    do {
        measure_work(piece);
        value[0] = measure_now() - before;
    } while (value[0] < group->step->batch_s);
    value[1] = measure_cpu_now() - cpu;
    for (int other = 1; other < group->size; other++)
        MPI_Send(group->send, 1, MPI_BYTE, other, MEASURE_TAG, group->comm);
    group->receive[0] = group->send[0];
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    (void)messages;
    if (group->rank == 0) {
        compute(group, value);
        return;
    }
    const double cpu = measure_cpu_now(), before = measure_now();
    MPI_Recv(group->receive, 1, MPI_BYTE, 0, MEASURE_TAG, group->comm, MPI_STATUS_IGNORE);
    const double took = measure_now() - before, least = group->step->batch_s;
    /* Who came when the computation was over has hardly waited. */
    value[2] = (measure_cpu_now() - cpu) / (took > least ? took : least) / (group->size - 1);
}

static int arrived(struct measure_group *group, uint32_t seed) {
    return group->receive[0] == (char)seed;
}

static const struct measure_group_test waiting = {room, fill, batch, arrived, 1};
const struct measure_test measure_waiting = {.name = "waiting", .group = &waiting};
