/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock and what it costs, work that is nothing but time, and how often the kernel interfered. */
#include "measure.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define READS 1001

static double clock_cost;
static double cpu_clock_cost;
static double work_per_s;

double measure_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double measure_clock_cost(void) {
    return clock_cost;
}

double measure_cpu_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double measure_cpu_clock_cost(void) {
    return cpu_clock_cost;
}

/* The optimiser neither computes the loop's result ahead nor removes it: it must believe the empty
 * instruction. */
__attribute__((noinline)) void measure_work(long iterations) {
    for (long i = 0; i < iterations; i++)
        __asm__ volatile("" : "+r"(i));
}

void measure_calibrate(void) {
    double gaps[READS];
    for (int i = 0; i < READS; i++) {
        const double before = measure_now();
        gaps[i] = measure_now() - before;
    }
    clock_cost = measure_median(gaps, READS);
    for (int i = 0; i < READS; i++) {
        const double before = measure_cpu_now();
        gaps[i] = measure_cpu_now() - before;
    }
    cpu_clock_cost = measure_median(gaps, READS);
    /* The shortest of several: whatever interferes makes work slower. */
    double least = 1;
    for (int i = 0; i < 20; i++) {
        const double before = measure_now();
        measure_work(100000);
        const double took = measure_now() - before - clock_cost;
        least = took < least ? took : least;
    }
    work_per_s = 100000 / (least > 1e-9 ? least : 1e-9);
}

long measure_work_for(double seconds) {
    return (long)(seconds * work_per_s);
}

long measure_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}
