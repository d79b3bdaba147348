/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 computes before it sends what it had before, and rank 1 waits; mended, it sends first. */
#include "defect.h"

int main(int argc, char **argv) {
    struct defect at = begin(argc, argv);
    double content[128] = {0};
    for (int step = 0; step < 100; step++) {
        if (at.rank == 0 && at.planted) {
            compute(5000 * at.scale);
            MPI_Send(content, 128, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        } else if (at.rank == 0) {
            MPI_Send(content, 128, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            compute(5000 * at.scale);
        } else if (at.rank == 1) {
            MPI_Recv(content, 128, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(5000 * at.scale);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
