/* SPDX-License-Identifier: BSD-3-Clause */
/* All workloads, by name. */
#ifndef RANKWISE_WORKLOADS_LIST_H
#define RANKWISE_WORKLOADS_LIST_H

#include <stddef.h>

#include "workload.h"

extern const struct workload workload_cg, workload_ft, workload_mg;

/* @return the workload of that name, or NULL */
const struct workload *workload_find(const char *name);

/* @return the workload number `index` in alphabetical order, or NULL behind the last */
const struct workload *workload_at(size_t index);

/*
 * @brief Whether a workload has this class and can run on this many ranks.
 * @param why where to write the reason if not, a sentence without full stop
 * @return 1 if so
 */
int workload_accepts(const struct workload *, char problem_class, int ranks, char *why, size_t why_bytes);

#endif
