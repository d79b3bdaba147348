/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that end together: the last rank has four times the work of each other; mended, all have the same. */
#include "defect.h"

int main(int argc, char **argv) {
    struct defect at = begin(argc, argv);
    double mean = 5000 * at.scale, light = mean * at.ranks / (at.ranks + 3);
    double mine = !at.planted ? mean : at.rank == at.ranks - 1 ? 4 * light : light;
    for (int step = 0; step < 100; step++) {
        double value = compute(mine), sum;
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
