/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends MPI, and nothing between: what interfaces count meanwhile is the library's own. */
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
