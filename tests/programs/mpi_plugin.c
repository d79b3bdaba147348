/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI for a program that is not linked with it. */
#include <mpi.h>
#include <stddef.h>

void begin(void) {
    MPI_Init(NULL, NULL);
}

void end(void) {
    MPI_Finalize();
}
