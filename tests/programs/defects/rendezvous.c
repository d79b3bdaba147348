/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 sends a message of 48 KiB in each round and then computes; rank 1 computes as long before it
 * receives it. What mends that is outside the program: a higher eager limit. */
#include "defect.h"

enum { BYTES = 48 << 10, ROUNDS = 40 };

int main(int argc, char **argv) {
    struct defect is = begin(argc, argv);
    static char data[BYTES];
    for (int i = 0; i < ROUNDS; i++) {
        if (is.rank == 0) {
            MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            compute(5000 * is.scale);
        } else if (is.rank == 1) {
            compute(5000 * is.scale);
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
