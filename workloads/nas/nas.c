/* SPDX-License-Identifier: BSD-3-Clause */
#include "nas.h"

#include <stdio.h>

int nas_power_of_two(const char *name, const struct problem *problem, int ranks, int most, char *why,
                     size_t why_bytes) {
    char what[32];
    snprintf(what, sizeof what, "%s of class %c", name, problem->problem_class);
    return workload_power_of_two(what, ranks, most, why, why_bytes);
}
