/* SPDX-License-Identifier: BSD-3-Clause */
#include "list.h"

#include <string.h>

static const struct workload *const workloads[] = {
    &workload_bt,     &workload_cg,   &workload_ep,       &workload_ft,      &workload_is,   &workload_lu,
    &workload_mg,     &workload_sp,   &workload_alltoall, &workload_gromacs, &workload_halo, &workload_hpl,
    &workload_lammps, &workload_namd, &workload_random,   &workload_ring,    &workload_tree,
};

const struct workload *workload_at(size_t index) {
    return index < sizeof workloads / sizeof *workloads ? workloads[index] : NULL;
}

const struct workload *workload_find(const char *name) {
    const struct workload *found;
    for (size_t i = 0; (found = workload_at(i)) != NULL; i++)
        if (strcmp(found->name, name) == 0)
            return found;
    return NULL;
}
