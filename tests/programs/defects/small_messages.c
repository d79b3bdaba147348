/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 computes and sends rank 1 eight bytes a message; mended, all of them in one message. */
#include "defect.h"

enum { NUMBERS = 20000, ROUNDS = 10 };

int main(int argc, char **argv) {
    struct defect is = begin(argc, argv);
    static double numbers[NUMBERS];
    int each = is.planted ? 1 : NUMBERS;
    for (int i = 0; i < ROUNDS; i++) {
        compute(4000 * is.scale);
        for (int at = 0; at < NUMBERS; at += each) {
            if (is.rank == 0)
                MPI_Send(numbers + at, each, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            else if (is.rank == 1)
                MPI_Recv(numbers + at, each, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
