/* SPDX-License-Identifier: BSD-3-Clause */
/* The median of samples, and how well it is known. */
#include "measure.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measure_median(double *values, long count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Ranks of the order statistics that enclose the median with 95 % confidence, normal approximation of the
 * binomial (T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015,
 * section 3.1.3). */
int measure_narrow(double *values, long count, double precision) {
    if (count < 6)
        return 0;
    const double median = measure_median(values, count);
    const double half = 1.96 * sqrt((double)count);
    const long low = (long)floor(((double)count - half) / 2),
               high = (long)ceil(1 + ((double)count + half) / 2);
    if (low < 1 || high > count)
        return 0;
    return values[high - 1] - values[low - 1] <= 2 * precision * median;
}
