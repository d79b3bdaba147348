/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps as text: `pingpong:pairs=0-1:sizes=1,8,64:budget_s=0.2`. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_pairs(char *text, int world, struct measure_step *step) {
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int from, to, end = 0;
        if (step->pairs == MEASURE_MAX_PAIRS || sscanf(word, "%d-%d%n", &from, &to, &end) != 2 || word[end])
            return 0;
        if (from < 0 || to < 0 || from >= world || to >= world || from == to)
            return 0;
        step->from[step->pairs] = from;
        step->to[step->pairs++] = to;
    }
    return step->pairs > 0;
}

static int parse_cores(char *text, struct measure_step *step) {
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int from, to, end = 0;
        if (step->bound == MEASURE_MAX_PAIRS || sscanf(word, "%d-%d%n", &from, &to, &end) != 2 || word[end])
            return 0;
        step->core_from[step->bound] = from;
        step->core_to[step->bound++] = to;
    }
    return 1;
}

/* `0,1,2`: numbers of at least `least` and below `end`, into `numbers`; returns how many, 0 for anything
 * else. */
static int parse_group(char *text, int least, int end, int *numbers) {
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *tail;
        const long number = strtol(word, &tail, 10);
        if (count == MEASURE_MAX_PAIRS || *tail || number < least || number >= end)
            return 0;
        numbers[count++] = (int)number;
    }
    return count;
}

static int parse_ranks(char *text, int world, struct measure_step *step) {
    step->pairs = parse_group(text, 0, world, step->from);
    for (int i = 0; i < step->pairs; i++)
        for (int j = 0; j < i; j++)
            if (step->from[i] == step->from[j])
                return 0;
    return step->pairs > 0;
}

static int parse_sizes(char *text, struct measure_step *step) {
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *end;
        const long bytes = strtol(word, &end, 10);
        if (step->sizes == MEASURE_MAX_SIZES || *end || bytes < 0 || bytes > 1L << 30)
            return 0;
        step->bytes[step->sizes++] = bytes;
    }
    return step->sizes > 0;
}

static int parse_number(const char *key, const char *text, struct measure_step *step) {
    const struct {
        const char *key;
        double *real;
        long *whole;
        double least;
    } known[] = {
        {"budget_s", &step->budget_s, NULL, 0},
        {"batch_s", &step->batch_s, NULL, 0},
        {"longest_s", &step->longest_s, NULL, 0},
        {"due_s", &step->due_s, NULL, 0},
        {"planned_s", &step->planned_s, NULL, 0},
        {"skip_s", &step->skip_s, NULL, 0},
        {"precision", &step->precision, NULL, 0},
        {"patience", &step->patience, NULL, 1},
        {"least", NULL, &step->least, 1},
        {"most", NULL, &step->most, 1},
        {"messages", NULL, &step->messages, 2},
        {"waiters", NULL, &step->waiters, 0},
        {"rotate_bytes", NULL, &step->rotate_bytes, 0},
        {"setting", NULL, &step->setting, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(key, known[i].key)) {
            char *end;
            const double value = strtod(text, &end);
            if (*end || end == text || !(value >= known[i].least && value <= 1e12))
                return 0;
            if (known[i].real)
                *known[i].real = value;
            else
                *known[i].whole = (long)value;
            return 1;
        }
    return 0;
}

static int parse_word(char *word, int world, struct measure_step *step) {
    char *value = strchr(word, '=');
    if (!value)
        return 0;
    *value++ = 0;
    if (!strcmp(word, "ranks"))
        return step->test->group && parse_ranks(value, world, step);
    if (!strcmp(word, "on"))
        return step->test->group && (step->bound = parse_group(value, -1, 1 << 20, step->core_from)) > 0;
    if (!strcmp(word, "pairs"))
        return !step->test->group && parse_pairs(value, world, step);
    if (!strcmp(word, "cores"))
        return parse_cores(value, step);
    if (!strcmp(word, "sizes"))
        return parse_sizes(value, step);
    return parse_number(word, value, step);
}

int measure_parse_step(const char *text, int number, int world, struct measure_step *step, char *why,
                       size_t room) {
    memset(step, 0, sizeof *step);
    step->number = number;
    step->budget_s = 0.2;
    step->batch_s = 1e-4;
    step->patience = 4;
    step->precision = 0.02;
    step->least = 9;
    step->most = 1000;
    step->messages = 160;
    char *copy = strdup(text), *rest = NULL, *name = strtok_r(copy, ":", &rest);
    for (int i = 0; name && measure_tests[i]; i++)
        if (!strcmp(name, measure_tests[i]->name))
            step->test = measure_tests[i];
    int good = step->test != NULL;
    if (!good)
        snprintf(why, room, "no test `%s`", name ? name : "");
    for (char *word = strtok_r(NULL, ":", &rest); good && word; word = strtok_r(NULL, ":", &rest)) {
        snprintf(why, room, "`%s` of `%s`", word, step->test->name);
        good = parse_word(word, world, step);
    }
    if (good && (!step->pairs || !step->sizes)) {
        snprintf(why, room, "`%s` without pairs or sizes", step->test->name);
        good = 0;
    }
    free(copy);
    return good;
}
