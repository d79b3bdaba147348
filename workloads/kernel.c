/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#include <stddef.h>

const char *comm_kernel_name(int kernel) {
    static const char *const names[COMM_KERNELS] = {"dgemm", "dtrsm",  "dger", "dgemv", "dtrsv",
                                                    "dscal", "idamax", "copy", "sweep"};
    return kernel >= 0 && kernel < COMM_KERNELS ? names[kernel] : NULL;
}

double comm_kernel_operations(enum comm_kernel kernel, int64_t m, int64_t n, int64_t k) {
    double rows = (double)m, columns = (double)n;
    switch (kernel) {
    case COMM_DGEMM:
        return 2 * rows * columns * (double)k;
    case COMM_DTRSM:
        return rows * rows * columns;
    case COMM_DGER:
    case COMM_DGEMV:
    case COMM_SWEEP:
        return 2 * rows * columns;
    case COMM_DTRSV:
        return rows * rows;
    case COMM_COPY:
        return rows * columns;
    default:
        return rows;
    }
}
