/* SPDX-License-Identifier: BSD-3-Clause */
/* One piece of work goes round all ranks, each of which computes when it has it; mended, each rank has a
 * piece at once. */
#include "defect.h"

int main(int argc, char **argv) {
    struct defect at = begin(argc, argv);
    int next = (at.rank + 1) % at.ranks, before = (at.rank + at.ranks - 1) % at.ranks;
    double piece[64] = {0};
    for (int lap = 0; lap < 60; lap++) {
        if (!at.planted) {
            compute(10000 * at.scale);
            MPI_Sendrecv_replace(piece, 64, MPI_DOUBLE, next, 0, before, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
            continue;
        }
        if (lap > 0 || at.rank > 0) {
            MPI_Recv(piece, 64, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        compute(10000 * at.scale);
        if (lap < 59 || at.rank < at.ranks - 1) {
            MPI_Send(piece, 64, MPI_DOUBLE, next, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
