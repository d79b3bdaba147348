/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks add up 100 numbers, one call for each; mended, all in one call. */
#include "defect.h"

enum { NUMBERS = 100, ROUNDS = 400 };

int main(int argc, char **argv) {
    struct defect is = begin(argc, argv);
    double numbers[NUMBERS] = {0}, sums[NUMBERS];
    int each = is.planted ? 1 : NUMBERS;
    for (int i = 0; i < ROUNDS; i++) {
        compute(50 * is.scale);
        for (int at = 0; at < NUMBERS; at += each)
            MPI_Allreduce(numbers + at, sums + at, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
