/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much processor time do messages cost when all ranks exchange them at once? Ranks of the group are of
 * `setting` nodes in turn. Each sends to up to PARTNERS ranks ahead of it that are on other nodes, and
 * receives from as many behind it, all at once, up to `messages` times. V1 is the time of one message, V2 the
 * processor time of both its ends, means of all ranks. V3 is the time that the ranks' cores were not idle, 0
 * if the kernel does not say: what it does for messages while a core's ranks all sleep is in nobody's
 * processor time. Alone, a pair's protocol work is done for many packets at once and partly on cores that
 * nobody uses; among many it is not, and falls into the time of the ranks on the same cores.
 */
#include "measure.h"

#include <sched.h>

#define PARTNERS 12

/* How far ahead the partners are; how many. */
static int partners(const struct measure_group *group, int ahead[PARTNERS]) {
    const int nodes = group->step->setting > 1 ? (int)group->step->setting : group->size;
    int count = 0;
    for (int shift = 1; shift < group->size && count < PARTNERS; shift++)
        if (shift % nodes != 0)
            ahead[count++] = shift;
    return count;
}

static long room(const struct measure_group *group) {
    return group->bytes * PARTNERS;
}

static void fill(struct measure_group *group, uint32_t seed) {
    measure_fill(group->send, group->bytes, seed);
    measure_spoil(group->receive, group->bytes * PARTNERS);
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    int ahead[PARTNERS];
    const int count = partners(group, ahead);
    MPI_Request requests[2 * PARTNERS];
    const int core = sched_getcpu(), sharing = measure_on_this_core(group, core);
    const double idle = measure_idle_s(core);
    const double cpu = measure_cpu_now(), before = measure_now();
    for (long i = 0; i < messages; i++) {
        for (int k = 0; k < count; k++) {
            const int from = (group->rank + group->size - ahead[k]) % group->size;
            MPI_Irecv(group->receive + k * group->bytes, (int)group->bytes, MPI_BYTE, from, MEASURE_TAG,
                      group->comm, &requests[k]);
        }
        for (int k = 0; k < count; k++)
            MPI_Isend(group->send, (int)group->bytes, MPI_BYTE, (group->rank + ahead[k]) % group->size,
                      MEASURE_TAG, group->comm, &requests[count + k]);
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    }
    const double used = measure_cpu_now() - cpu, wall = measure_now() - before,
                 idle_after = measure_idle_s(core);
    const double each = (double)messages * (count ? count : 1) * group->size;
    const int known = idle >= 0 && idle_after >= idle && idle_after - idle <= wall;
    value[0] = wall / each;
    value[1] = used / each;
    value[2] = known ? (wall - (idle_after - idle)) / sharing / each : 0;
}

static int arrived(struct measure_group *group, uint32_t seed) {
    int ahead[PARTNERS];
    const int count = partners(group, ahead);
    int right = 1;
    for (int k = 0; k < count; k++)
        right &= measure_matches(group->receive + k * group->bytes, group->bytes, seed);
    return right;
}

static const struct measure_group_test exchange_cpu = {room, fill, batch, arrived, .adds = 1, .fits = 1};
const struct measure_test measure_exchange_cpu = {.name = "exchange_cpu", .group = &exchange_cpu};
