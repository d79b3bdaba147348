/* SPDX-License-Identifier: BSD-3-Clause */
#include "list.h"

#include <stdio.h>
#include <string.h>

static const struct workload *const workloads[] = {&workload_cg, &workload_ft, &workload_mg};

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

int workload_accepts(const struct workload *w, char problem_class, int ranks, char *why, size_t why_bytes) {
    if (problem_class == '\0' || strchr(w->classes, problem_class) == NULL) {
        snprintf(why, why_bytes, "%s has the classes %s, not `%c`", w->name, w->classes, problem_class);
        return 0;
    }
    int most = w->most_ranks(problem_class);
    if (ranks < 1 || ranks > most) {
        snprintf(why, why_bytes, "%s of class %c runs on 1 to %d ranks, not on `%d`", w->name, problem_class,
                 most, ranks);
        return 0;
    }
    if (!is_power_of_two(ranks)) {
        int below = 1 << log2_floor(ranks);
        snprintf(why, why_bytes, "%s of class %c runs on a power of two of ranks, as %d or %d, not on `%d`",
                 w->name, problem_class, below, 2 * below, ranks);
        return 0;
    }
    return 1;
}
