/* SPDX-License-Identifier: BSD-3-Clause */
/* Floating-point work of a given size, in place of the benchmark's arithmetic. */
#ifndef RANKWISE_WORKLOADS_WORK_H
#define RANKWISE_WORKLOADS_WORK_H

#include <stddef.h>

/* How much of the original's computation is done. */
struct work_amount {
    double factor;  /* operations done for each operation of the original */
    double seconds; /* if not negative: what the timed section's operations shall take on an idle core; sets
                       factor */
};

/*
 * @brief Read `0.01x` (a factor) or `2s`, `300ms`, `40us` (seconds).
 * @return 1 if the text is one of these and not negative
 */
int work_parse(const char *text, struct work_amount *amount);

/*
 * @brief Allocate the array that the work streams over. Small ones stay in a core's cache, large ones use
 * memory.
 * @return 1 if there was memory for it
 */
int work_set_up(size_t bytes);

/* @brief Do this many floating-point operations: multiply and add over the array. */
void work_do(double operations);

/*
 * @brief Do this many over data of another size, from their beginning; they stay there for the next call.
 * @return 1 if there was memory for them
 */
int work_over(size_t elements, double operations);

/* @return operations a second of this core, the best of several short trials by the thread's CPU clock */
double work_rate(void);

#endif
