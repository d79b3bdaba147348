/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#include <stddef.h>

const char *comm_kernel_name(int kernel) {
    static const char *const names[COMM_KERNELS] = {
        "dgemm",     "dtrsm",     "dger",      "dgemv",     "dtrsv",     "dscal",     "idamax",
        "copy",      "sweep",     "daxpy",     "dcopy",     "dlatcpy",   "dlaswp00n", "dlaswp01t",
        "dlaswp02n", "dlaswp03t", "dlaswp04t", "dlaswp05t", "dlaswp06t", "dlaswp10n", "pivot"};
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
    case COMM_DAXPY:
        return 2 * rows;
    case COMM_DSCAL:
    case COMM_IDAMAX:
        return rows;
    default:
        return rows * columns;
    }
}
