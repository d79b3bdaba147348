/* SPDX-License-Identifier: BSD-3-Clause */
#include "nas.h"

#include <stdio.h>

int nas_power_of_two(const char *name, const struct problem *problem, int ranks, int most, char *why,
                     size_t why_bytes) {
    char what[32];
    snprintf(what, sizeof what, "%s of class %c", name, problem->problem_class);
    return workload_power_of_two(what, ranks, most, why, why_bytes);
}

int nas_root(int n) {
    int root = 0;
    while ((root + 1) * (root + 1) <= n)
        root++;
    return root;
}

int nas_square(const char *name, const struct problem *problem, int ranks, int most, char *why,
               size_t why_bytes) {
    if (ranks > most) {
        snprintf(why, why_bytes, "%s of class %c runs on 1 to %d ranks, not on `%d`", name,
                 problem->problem_class, most, ranks);
        return 0;
    }
    int root = nas_root(ranks), above = (root + 1) * (root + 1);
    if (root * root != ranks) {
        snprintf(why, why_bytes, "%s of class %c runs on a square number of ranks, as %d or %d, not on `%d`",
                 name, problem->problem_class, root * root, above > most ? most : above, ranks);
        return 0;
    }
    return 1;
}
