/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labs let ranks that wait sleep between looks for messages (lab/yield.c). A ping-pong of such ranks takes
 * one or two sleeps, whatever the message's way is. So the ends of a pair look all the time while they are
 * timed, if each has a core of the machine, and how often others look is measured by itself: a group of ranks
 * on one core do nothing else, V1 is the time from one look of a rank to its next, the mean over the ranks, 0
 * outside of labs.
 */
#include "measure.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>

/* POSIX lets a pointer to data hold one to a function; C does not convert them. */
static void *function(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

static void keep_awake(int on) {
    void (*keep)(int), *found = function("rankwise_lab_keep_awake");
    memcpy(&keep, &found, sizeof keep);
    if (found)
        keep(on);
}

void measure_wake_up(const struct measure_pair *pair) {
    if (pair->step->test->asleep)
        return;
    const int here = sched_getcpu();
    int there;
    MPI_Sendrecv(&here, 1, MPI_INT, pair->peer, MEASURE_TAG_READY, &there, 1, MPI_INT, pair->peer,
                 MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    keep_awake(here != there);
}

void measure_fall_asleep(void) {
    keep_awake(0);
}

static long room(const struct measure_group *group) {
    (void)group;
    return 1;
}

static void fill(struct measure_group *group, uint32_t seed) {
    (void)group;
    (void)seed;
}

static void batch(struct measure_group *group, long messages, double value[MEASURE_VALUES]) {
    void (*sleep_once)(void), *sleeps = function("rankwise_lab_sleep");
    int (*looks_a_sleep)(void), *looks = function("rankwise_lab_looks");
    memcpy(&sleep_once, &sleeps, sizeof sleep_once);
    memcpy(&looks_a_sleep, &looks, sizeof looks_a_sleep);
    if (!sleeps || !looks)
        return;
    const int looked = looks_a_sleep();
    keep_awake(1);
    const double before = measure_now();
    for (long i = 0; i < messages; i++) {
        int flag;
        for (int look = 0; look < looked; look++)
            MPI_Iprobe(MPI_ANY_SOURCE, MEASURE_TAG, group->comm, &flag, MPI_STATUS_IGNORE);
        sleep_once();
    }
    value[0] = (measure_now() - before - measure_clock_cost()) / (double)messages / group->size;
    keep_awake(0);
}

static int arrived(struct measure_group *group, uint32_t seed) {
    (void)group;
    (void)seed;
    return 1;
}

static const struct measure_group_test look = {room, fill, batch, arrived, 1};
const struct measure_test measure_look = {.name = "look", .group = &look};
