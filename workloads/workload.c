/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct problem workload_problem(const struct workload *w, char problem_class) {
    struct problem problem = {.problem_class = problem_class};
    for (int i = 0; i < w->option_count; i++)
        problem.option[i] = w->options[i].usual;
    return problem;
}

int workload_accepts(const struct workload *w, const struct problem *problem, int ranks, char *why,
                     size_t why_bytes) {
    char letter = problem->problem_class;
    if (w->classes[0] == '\0' && letter != '-') {
        snprintf(why, why_bytes, "%s has options, no classes, so none `%c`", w->name, letter);
        return 0;
    }
    if (w->classes[0] != '\0' && (letter == '\0' || strchr(w->classes, letter) == NULL)) {
        snprintf(why, why_bytes, "%s has the classes %s, not `%c`", w->name, w->classes, letter);
        return 0;
    }
    for (int i = 0; i < w->option_count; i++) {
        const struct workload_option *option = &w->options[i];
        if (problem->option[i] < option->least || problem->option[i] > option->most) {
            snprintf(why, why_bytes, "%s takes `--%s` of %" PRId64 " to %" PRId64 ", not `%" PRId64 "`",
                     w->name, option->name, option->least, option->most, problem->option[i]);
            return 0;
        }
    }
    if (ranks < 1) {
        snprintf(why, why_bytes, "%s runs on 1 rank or more, not on `%d`", w->name, ranks);
        return 0;
    }
    return w->accepts(problem, ranks, why, why_bytes);
}

int workload_option_value(const struct workload_option *option, const char *text, int64_t *value) {
    if (option->choices) {
        for (int i = 0; option->choices[i]; i++)
            if (strcmp(option->choices[i], text) == 0) {
                *value = i;
                return 1;
            }
        return 0;
    }
    char *behind;
    errno = 0;
    long long number = strtoll(text, &behind, 10);
    if (errno != 0 || behind == text || *behind != '\0' || number < option->least || number > option->most)
        return 0;
    *value = number;
    return 1;
}

int workload_power_of_two(const char *what, int ranks, int most, char *why, size_t why_bytes) {
    if (ranks > most) {
        snprintf(why, why_bytes, "%s runs on 1 to %d ranks, not on `%d`", what, most, ranks);
        return 0;
    }
    if (!is_power_of_two(ranks)) {
        int below = 1 << log2_floor(ranks);
        snprintf(why, why_bytes, "%s runs on a power of two of ranks, as %d or %d, not on `%d`", what, below,
                 2 * below, ranks);
        return 0;
    }
    return 1;
}
