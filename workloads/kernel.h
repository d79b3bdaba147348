/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing kernels that workloads name, so that a cost can be given for each of them. */
#ifndef RANKWISE_WORKLOADS_KERNEL_H
#define RANKWISE_WORKLOADS_KERNEL_H

#include <stdint.h>

/* Sizes m, n, k are those of the BLAS; what a kernel does not have is 0. */
enum comm_kernel {
    COMM_DGEMM, /* C(m x n) += A(m x k) B(k x n) */
    COMM_DTRSM, /* a triangle of order m, n right-hand sides */
    COMM_DGER,  /* A(m x n) += x y' */
    COMM_DGEMV, /* A(m x n) x */
    COMM_DTRSV, /* a triangle of order m */
    COMM_DSCAL, /* m elements */
    COMM_IDAMAX,
    COMM_COPY,  /* m x n elements moved: counted as one operation each */
    COMM_SWEEP, /* n passes over m elements of the program's data, a multiplication and an addition each */
    COMM_DAXPY,
    COMM_DCOPY,     /* n times m elements moved: here and below counted as one operation each */
    COMM_DLATCPY,   /* m x n, transposed */
    COMM_DLASWP00N, /* m rows of n elements exchanged, or moved between matrices: HPL has several kinds */
    COMM_DLASWP01T,
    COMM_DLASWP02N,
    COMM_DLASWP03T,
    COMM_DLASWP04T,
    COMM_DLASWP05T,
    COMM_DLASWP06T,
    COMM_DLASWP10N,
    COMM_PIVOT, /* the exchange of one pivot among n processes, m doubles of a row, where it is taken as
                   computation */
    COMM_KERNELS
};

/* @return its name in lower case, NULL if there is none of that number */
const char *comm_kernel_name(int kernel);

/* @return floating-point operations of one call; elements of those that only look at them or move them */
double comm_kernel_operations(enum comm_kernel, int64_t m, int64_t n, int64_t k);

#endif
