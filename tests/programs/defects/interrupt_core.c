/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 computes; rank 1 waits for it, and meanwhile gets messages of rank 2, as many as the network
 * carries. On which cores they are is the defect, or mends it: what a node receives interrupts one of them.
 */
#include "defect.h"

enum { OVER = 1, STEPS = 20, STEP_US = 50000, BYTES = 4096 };

int main(int argc, char **argv) {
    struct defect at = begin(argc, argv);
    static char data[BYTES];
    double value = 0;
    for (int step = 0; step < STEPS; step++) {
        if (at.rank == 0) {
            value = compute(STEP_US * at.scale);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, OVER, MPI_COMM_WORLD);
        } else if (at.rank == 1) {
            for (int over = 0; over < 2;) {
                MPI_Status status;
                MPI_Recv(data, BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                over += status.MPI_TAG == OVER;
                if (status.MPI_SOURCE == 0) {
                    MPI_Send(&value, 1, MPI_DOUBLE, 2, OVER, MPI_COMM_WORLD);
                }
            }
        } else if (at.rank == 2) {
            for (int over = 0; !over;) {
                MPI_Ssend(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Iprobe(1, OVER, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
            }
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, OVER, MPI_COMM_WORLD);
        }
    }
    /* MPICH 4.3 and 5.0 do not send in MPI_Finalize what a full socket did not take before: the receiver
     * hangs. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
