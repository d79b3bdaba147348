/* SPDX-License-Identifier: BSD-3-Clause */
/* What a workload is: its name, which class and rank count it takes, and its communication. */
#ifndef RANKWISE_WORKLOADS_WORKLOAD_H
#define RANKWISE_WORKLOADS_WORKLOAD_H

#include "comm.h"

struct workload {
    const char *name;
    const char *title;
    const char *pattern; /* who talks to whom, in one line */
    const char *classes; /* the letters of its problem classes */
    /* @brief Iterations of the timed section. */
    int (*iterations)(char problem_class);
    /* @brief Processes in each dimension of the default process grid; 1 in dimensions it does not have. */
    void (*grid)(char problem_class, int ranks, int grid[3]);
    /* @brief Largest number of ranks the class can be cut into. */
    int (*most_ranks)(char problem_class);
    /* @brief All of one rank's communication. @param iterations of the timed section */
    void (*run)(struct comm *, char problem_class, int iterations);
};

static inline int is_power_of_two(int n) {
    return n > 0 && (n & (n - 1)) == 0;
}

/* @return the largest k with 2^k <= n */
static inline int log2_floor(int n) {
    int k = 0;
    while (n > 1) {
        n /= 2;
        k++;
    }
    return k;
}

#endif
