/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NAS Parallel Benchmarks have in common. */
#ifndef RANKWISE_WORKLOADS_NAS_H
#define RANKWISE_WORKLOADS_NAS_H

#include "workload.h"

/* @brief For `accepts` of benchmarks that run on powers of two. */
int nas_power_of_two(const char *name, const struct problem *, int ranks, int most, char *why,
                     size_t why_bytes);

/* @brief For `accepts` of benchmarks that run on square numbers. */
int nas_square(const char *name, const struct problem *, int ranks, int most, char *why, size_t why_bytes);

/* @return the largest k with k * k <= n */
int nas_root(int n);

#endif
