/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load PU SHARE: takes SHARE of a processing unit, in pieces of a millisecond, before everything else there,
 * as interrupts do. Ends with its standard input.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: load PU SHARE\n");
        return 2;
    }
    const double share = atof(argv[2]), period = 1e-3;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(atoi(argv[1]), &one);
    const struct sched_param priority = {.sched_priority = 1};
    if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
        perror("load: a real-time process is needed");
        return 1;
    }
    for (double due = moment();; due += period) {
        while (moment() < due + share * period)
            ;
        struct pollfd input = {.fd = 0, .events = POLLIN};
        if (poll(&input, 1, 0) != 0)
            return 0;
        const double left = due + period - moment();
        if (left > 0) {
            const struct timespec pause = {0, (long)(left * 1e9)};
            nanosleep(&pause, NULL);
        }
    }
}
