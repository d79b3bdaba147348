/* SPDX-License-Identifier: BSD-3-Clause */
/* Usage: one_collective NAME BYTES TIMES [ROOT]: calls one collective operation (collective_calls.h). */
#include "collective_calls.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const char *name = argc > 1 ? argv[1] : "barrier";
    const int bytes = argc > 2 ? atoi(argv[2]) : 0;
    const int times = argc > 3 ? atoi(argv[3]) : 1;
    const int root = argc > 4 ? atoi(argv[4]) : 0;
    for (int i = 0; i < times; i++)
        call_collective(name, bytes, root);
    /* MPICH 4.3 and 5.0 do not send in MPI_Finalize what a full socket did not take before: the receiver
     * hangs. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
