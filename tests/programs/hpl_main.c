// SPDX-License-Identifier: BSD-3-Clause
// HPL alone, with the sources of it that HPC Challenge (Debian's hpcc) has: tests/install_hpl.sh compiles
// both.
#include "hpl.h"

int main(int argc, char **argv) {
    HPL_RuntimeData found;
    int failure = 0;
    MPI_Init(&argc, &argv);
    HPL_main(argc, argv, &found, &failure);
    MPI_Finalize();
    return failure;
}

// What HPC Challenge takes instead of an input that it cannot read.
int HPCC_Defaults(void) {
    HPL_pwarn(stderr, __LINE__, "HPCC_Defaults", "hpccinf.txt cannot be read");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}
