/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do ranks take of their cores that only wait? Rank 0 of the group sleeps for `batch_s`, outside of MPI.
 * The others wait for its message in a blocking receive. V1 is how long that took, V2 the part of a core that
 * a waiting rank used, V3 the part that its core was not idle for it, means of all; V3 is 0 if the kernel
 * does not say. A library that spins while it waits uses what the kernel gives it; one that sleeps between
 * looks for a message uses less, and the kernel wakes it up.
 */
#include "measure.h"

#include <sched.h>
#include <time.h>

static long room(const struct measure_group *group) {
    (void)group;
    return 1;
}

static void fill(struct measure_group *group, uint32_t seed) {
    group->send[0] = (char)seed;
    group->receive[0] = (char)~seed;
}

static void pause_for(double seconds) {
    const struct timespec span = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    (void)messages;
    const int core = sched_getcpu();
    const int sharing = measure_on_this_core(group, group->rank ? core : -1), waiting = group->size - 1;
    const double idle = measure_idle_s(core), cpu = measure_cpu_now(), before = measure_now();
    if (group->rank == 0) {
        pause_for(group->step->batch_s);
        for (int other = 1; other < group->size; other++)
            MPI_Send(group->send, 1, MPI_BYTE, other, MEASURE_TAG, group->comm);
        group->receive[0] = group->send[0];
        value[0] = measure_now() - before;
        return;
    }
    MPI_Recv(group->receive, 1, MPI_BYTE, 0, MEASURE_TAG, group->comm, MPI_STATUS_IGNORE);
    const double used = measure_cpu_now() - cpu, wall = measure_now() - before;
    const double idle_after = measure_idle_s(core), busy = wall - (idle_after - idle);
    value[1] = used / wall / waiting;
    value[2] = idle >= 0 && busy > 0 ? busy / wall / sharing / waiting : 0;
}

static int arrived(struct measure_group *group, uint32_t seed) {
    return group->receive[0] == (char)seed;
}

static const struct measure_group_test waiting = {room, fill, batch, arrived, 1};
const struct measure_test measure_waiting = {.name = "waiting", .group = &waiting};
