/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of 256 KiB on all ranks; the defect is in the settings that it is started with. */
#include <mpi.h>
#include <stdlib.h>

enum { NUMBERS = 32768, ROUNDS = 10 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    double *mine = calloc(NUMBERS, sizeof *mine), *sum = calloc(NUMBERS, sizeof *sum);
    if (!mine || !sum)
        return 2;
    for (int round = 0; round < ROUNDS; round++)
        MPI_Allreduce(mine, sum, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(mine);
    free(sum);
    MPI_Finalize();
    return 0;
}
