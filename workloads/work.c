/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double *array;
static size_t elements, position;

static const double multiplier = 0.75, addend = 0.25; /* 1 is its fixed point: no overflow, no denormals */

int work_parse(const char *text, struct work_amount *amount) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
    char *behind;
    double number = strtod(text, &behind);
    if (behind == text || !(number >= 0) || number > 1e18)
        return 0;
    *amount = (struct work_amount){.factor = number, .seconds = -1};
    if (strcmp(behind, "x") == 0)
        return 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(behind, units[i].unit) == 0) {
            *amount = (struct work_amount){.factor = 0, .seconds = number * units[i].seconds};
            return 1;
        }
    return 0;
}

int work_set_up(size_t bytes) {
    elements = bytes / sizeof *array;
    array = elements ? malloc(elements * sizeof *array) : NULL;
    for (size_t i = 0; array && i < elements; i++)
        array[i] = 1;
    return array != NULL;
}

void work_do(double operations) {
    static double owed; /* elements; what is less than one is left for the next call */
    owed += operations / 2;
    while (owed >= 1) {
        size_t run = elements - position;
        if ((double)run > owed)
            run = (size_t)owed;
        for (size_t i = position; i < position + run; i++)
            array[i] = array[i] * multiplier + addend;
        owed -= (double)run;
        position = (position + run) % elements;
    }
}

int work_over(size_t count, double operations) {
    static double *data;
    static size_t allocated;
    if (count > allocated) {
        double *grown = realloc(data, count * sizeof *grown);
        if (grown == NULL)
            return 0;
        for (size_t i = allocated; i < count; i++)
            grown[i] = 1;
        data = grown;
        allocated = count;
    }
    size_t left = (size_t)(operations / 2);
    while (left > 0) {
        size_t run = left < count ? left : count;
        for (size_t i = 0; i < run; i++)
            data[i] = data[i] * multiplier + addend;
        left -= run;
    }
    return 1;
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double work_rate(void) {
    double best = 0, operations = 1e5;
    for (int trial = 0; trial < 8;) {
        double start = cpu_seconds();
        work_do(operations);
        double elapsed = cpu_seconds() - start;
        if (elapsed < 2e-3) {
            operations *= 2;
            continue;
        }
        if (operations / elapsed > best)
            best = operations / elapsed;
        trial++;
    }
    return best;
}
