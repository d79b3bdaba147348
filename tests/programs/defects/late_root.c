/* SPDX-License-Identifier: BSD-3-Clause */
/* The root computes before a broadcast that others need for their computation; mended, it does so after that.
 */
#include "defect.h"

enum { STEPS = 40 };

int main(int argc, char **argv) {
    struct defect is = begin(argc, argv);
    double work = 4000 * is.scale, value = 1;
    for (int i = 0; i < STEPS; i++) {
        int before = is.rank == 0 && is.planted;
        if (before) {
            compute(work);
        }
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (!before) {
            compute(work);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
