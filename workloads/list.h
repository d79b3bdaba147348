/* SPDX-License-Identifier: BSD-3-Clause */
/* All workloads, by name. */
#ifndef RANKWISE_WORKLOADS_LIST_H
#define RANKWISE_WORKLOADS_LIST_H

#include <stddef.h>

#include "workload.h"

extern const struct workload workload_bt, workload_cg, workload_ep, workload_ft, workload_is, workload_lu,
    workload_mg, workload_sp;
extern const struct workload workload_alltoall, workload_gromacs, workload_halo, workload_hpl,
    workload_lammps, workload_namd, workload_random, workload_ring, workload_tree;

/* @return the workload of that name, or NULL */
const struct workload *workload_find(const char *name);

/* @return the workload number `index` in the order they are listed in, or NULL behind the last */
const struct workload *workload_at(size_t index);

#endif
