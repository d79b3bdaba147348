/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the levels that the MPI standard gives a meaning: 0 disables profiling, 1 enables it, 2 flushes it. */
#include <mpi.h>

static void barriers(int count) {
    while (count-- > 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    barriers(1);
    MPI_Pcontrol(0);
    barriers(2);
    MPI_Pcontrol(1);
    barriers(4);
    MPI_Pcontrol(2);
    barriers(8);
    MPI_Pcontrol(0);
    barriers(16);
    MPI_Finalize();
    return 0;
}
