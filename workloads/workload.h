/* SPDX-License-Identifier: BSD-3-Clause */
/* What a workload is: its name, what can be asked of it, which rank counts it takes, and its communication.
 */
#ifndef RANKWISE_WORKLOADS_WORKLOAD_H
#define RANKWISE_WORKLOADS_WORKLOAD_H

#include <stddef.h>

#include "comm.h"

enum { WORKLOAD_OPTIONS_MOST = 16 };

/* Given as `--NAME VALUE`. */
struct workload_option {
    const char *name;
    const char *help;
    const char *const *choices; /* ends with NULL, the value is the index; NULL: a whole number */
    int64_t least, most, usual;
};

/* What is asked of a workload. */
struct problem {
    char problem_class;                    /* '-' of workloads without classes */
    int iterations;                        /* of the timed section */
    int64_t option[WORKLOAD_OPTIONS_MOST]; /* in the order of the workload's options */
};

struct workload {
    const char *name;
    const char *title;
    const char *pattern; /* who talks to whom, in one line */
    const char *classes; /* the letters of its problem classes; "": it has options only */
    const struct workload_option *options;
    int option_count;
    /* @brief The problem's own number of iterations; what the problem says of them is not looked at. */
    int (*iterations)(const struct problem *);
    /* @brief Processes in each dimension of the process grid; 1 in dimensions it does not have. */
    void (*grid)(const struct problem *, int ranks, int grid[3]);
    /*
     * @brief Whether it runs on this many ranks, 1 at least.
     * @param why where to write the reason if not, a sentence without full stop
     * @return 1 if so
     */
    int (*accepts)(const struct problem *, int ranks, char *why, size_t why_bytes);
    /* @brief All of one rank's communication. */
    void (*run)(struct comm *, const struct problem *);
};

/* @return what is asked where nothing is said: every option as usual, iterations 0 */
struct problem workload_problem(const struct workload *, char problem_class);

/*
 * @brief Whether a workload has this class, takes these options and can run on this many ranks.
 * @param why where to write the reason if not, a sentence without full stop
 * @return 1 if so
 */
int workload_accepts(const struct workload *, const struct problem *, int ranks, char *why, size_t why_bytes);

/*
 * @brief Read an option's value: the name of a choice, or a whole number.
 * @return 1 if it is one that the option takes
 */
int workload_option_value(const struct workload_option *, const char *text, int64_t *value);

/* @brief For `accepts`: 1 to `most` ranks, a power of two of them. `what` names the problem, as "cg of class
 * B". */
int workload_power_of_two(const char *what, int ranks, int most, char *why, size_t why_bytes);

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
