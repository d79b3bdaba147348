/* SPDX-License-Identifier: BSD-3-Clause */
/* `sleepers SECONDS`: ranks that meet once a second and sleep else, so that hundreds of them need no
 * processor. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 10;
    for (int round = 0; round < rounds; round++) {
        MPI_Request met;
        int done = 0;
        sleep(1);
        MPI_Ibarrier(MPI_COMM_WORLD, &met);
        for (MPI_Test(&met, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&met, &done, MPI_STATUS_IGNORE))
            usleep(1000);
    }
    MPI_Finalize();
    return 0;
}
