/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long computing kernels take: calls (name m n k) come as lines, the seconds of one call of each go
 * out.
 *
 * usage: kernels LIBRARY PREFIX SUFFIX INTEGER_BYTES THREADS, a BLAS with the Fortran interface: its
 * functions are named PREFIX dgemm SUFFIX. Swaps of rows are loops that go through memory as those of HPL do,
 * with matrices of ROWS rows.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

enum { SAMPLES = 5, ROWS = 4096 };
static const double LEAST_S = 2e-3; /* of a sample */

typedef void (*function)();

static void *library;
static const char *prefix, *suffix;
static int wide; /* integers have 8 bytes */
static double *a, *b, *c;
static size_t doubles; /* of each of them */

struct call {
    enum comm_kernel kernel;
    int64_t m, n, k;
    int64_t at; /* columns that it begins at: each call has others, so that it does not find them in caches */
    function blas;
};

/* The thread's own time where one computes: what others do on its core does not count. */
static clockid_t clock_of = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec t;
    clock_gettime(clock_of, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A Fortran integer of either width. */
union integer {
    int32_t narrow;
    int64_t wide;
};

static union integer integer(int64_t value) {
    union integer i;
    if (wide)
        i.wide = value;
    else
        i.narrow = (int32_t)value;
    return i;
}

static int64_t row_of(int64_t i) {
    return i * 37 % ROWS;
}

static void blas(const struct call *call) {
    static const double one = 1, minus = -1;
    union integer m = integer(call->m), n = integer(call->n), k = integer(call->k), ld = integer(ROWS);
    union integer step = integer(1);
    double *x = a + call->at * ROWS, *y = b, *z = c;
    switch (call->kernel) {
    case COMM_DGEMM:
        call->blas("N", "T", &m, &n, &k, &minus, y, &ld, z, &n, &one, x, &ld, (size_t)1, (size_t)1);
        break;
    case COMM_DTRSM:
        call->blas("R", "U", "N", "U", &n, &m, &one, z, &m, x, &n, (size_t)1, (size_t)1, (size_t)1,
                   (size_t)1);
        break;
    case COMM_DGER:
        call->blas(&m, &n, &minus, y, &step, z, &step, x, &ld);
        break;
    case COMM_DGEMV:
        call->blas("N", &m, &n, &minus, x, &ld, z, &step, &one, y, &step, (size_t)1);
        break;
    case COMM_DTRSV:
        call->blas("U", "N", "U", &m, z, &ld, y, &step, (size_t)1, (size_t)1, (size_t)1);
        break;
    case COMM_DSCAL:
        call->blas(&m, &minus, x, &step);
        break;
    case COMM_DAXPY:
        call->blas(&m, &minus, y, &step, x, &step);
        break;
    case COMM_IDAMAX:
        call->blas(&m, x, &step);
        break;
    default: /* dcopy: a row of a matrix */
        for (int64_t i = 0; i < call->n; i++)
            call->blas(&m, x + i, &ld, y + i * call->m, &step);
    }
}

/* Row i of m comes from, or goes to, a row of the matrix; w holds rows one after the other. */
static void swap(const struct call *call) {
    double *x = a + call->at * ROWS, *w = b;
    int64_t m = call->m, n = call->n;
    for (int64_t i = 0; i < m; i++) {
        double *row = x + row_of(i), *packed = w + i * n, *other = x + (i + ROWS / 2) % ROWS;
        switch (call->kernel) {
        case COMM_DLASWP00N: /* exchanges of two rows of the matrix */
            for (int64_t j = 0; j < n; j++) {
                double held = row[j * ROWS];
                row[j * ROWS] = other[j * ROWS];
                other[j * ROWS] = held;
            }
            break;
        case COMM_DLASWP01T: /* out of the matrix */
        case COMM_DLASWP02N:
        case COMM_DLATCPY:
            for (int64_t j = 0; j < n; j++)
                packed[j] = row[j * ROWS];
            break;
        case COMM_DLASWP03T: /* between two buffers */
            memcpy(packed, c + i * n, (size_t)n * sizeof *c);
            break;
        case COMM_DLASWP10N: /* exchanges in a buffer */
            for (int64_t j = 0; j < n; j++) {
                double held = packed[j], *from = w + (m - 1 - i) * n;
                packed[j] = from[j];
                from[j] = held;
            }
            break;
        case COMM_DLASWP06T: /* exchanges of a buffer with the matrix */
            for (int64_t j = 0; j < n; j++) {
                double held = packed[j];
                packed[j] = row[j * ROWS];
                row[j * ROWS] = held;
            }
            break;
        default: /* into the matrix */
            for (int64_t j = 0; j < n; j++)
                row[j * ROWS] = packed[j];
        }
    }
}

static int by_value(const void *left, const void *right) {
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

static double seconds_of(struct call *call) {
    double sample[SAMPLES];
    int64_t columns = call->n > call->k ? call->n : call->k, room = (int64_t)(doubles / ROWS) - columns - 1;
    for (int s = 0; s < SAMPLES; s++) {
        int64_t calls = 0;
        double start = now(), spent;
        do { /* as many again, so that looking at the clock is none of it */
            for (int64_t more = calls > 0 ? calls : 1; more > 0; more--, calls++) {
                call->at = room > 0 ? (call->at + columns + 1) % room : 0;
                if (call->blas)
                    blas(call);
                else
                    swap(call);
            }
            spent = now() - start;
        } while (spent < LEAST_S);
        sample[s] = spent / (double)calls;
    }
    qsort(sample, SAMPLES, sizeof *sample, by_value);
    return sample[SAMPLES / 2];
}

static int prepare(struct call *call, const char *name) {
    for (int kernel = 0; kernel < COMM_KERNELS; kernel++)
        if (strcmp(name, comm_kernel_name(kernel)) == 0) {
            char symbol[64];
            call->kernel = (enum comm_kernel)kernel;
            if (strncmp(name, "dla", 3) == 0)
                return 1;
            snprintf(symbol, sizeof symbol, "%s%s%s", prefix, name, suffix);
            *(void **)&call->blas = dlsym(library, symbol);
            return call->blas != NULL;
        }
    return 0;
}

static double *filled(void) {
    double *values = malloc(doubles * sizeof *values);
    for (size_t i = 0; values && i < doubles; i++)
        values[i] = 1e-9 * (double)(1 + i % 1000); /* a BLAS may skip zeros */
    return values;
}

int main(int argc, char **argv) {
    char name[32];
    struct call call = {0};
    if (argc != 6) {
        fputs("usage: kernels LIBRARY PREFIX SUFFIX INTEGER_BYTES THREADS\n", stderr);
        return 2;
    }
    library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    prefix = argv[2];
    suffix = argv[3];
    wide = atoi(argv[4]) == 8;
    if (atoi(argv[5]) == 1)
        clock_of = CLOCK_THREAD_CPUTIME_ID;
    doubles = (size_t)ROWS * 2048;
    a = filled();
    b = filled();
    c = filled();
    if (a == NULL || b == NULL || c == NULL) {
        fputs("there is no memory for matrices\n", stderr);
        return 1;
    }
    while (scanf("%31s %" SCNd64 " %" SCNd64 " %" SCNd64, name, &call.m, &call.n, &call.k) == 4) {
        call.blas = NULL;
        if (!prepare(&call, name)) {
            fprintf(stderr, "the library has no `%s`\n", name);
            return 1;
        }
        printf("%.9e\n", seconds_of(&call));
        fflush(stdout);
    }
    return 0;
}
