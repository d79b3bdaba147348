/* SPDX-License-Identifier: BSD-3-Clause */
/* In each step the other rank has three times the work of the first; mended, both have the mean. */
#include "defect.h"

enum { STEPS = 60 };

int main(int argc, char **argv) {
    struct defect is = begin(argc, argv);
    double work = 2000 * is.scale, sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double value = compute(is.planted ? (i % 2 == is.rank ? 3 * work : work) : 2 * work);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
