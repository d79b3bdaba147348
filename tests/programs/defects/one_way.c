/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from rank 0 to rank 1, as fast as they go; what may lose their packets is outside the program. */
#include "defect.h"

int main(int argc, char **argv) {
    struct defect at = begin(argc, argv);
    static char content[1 << 16];
    for (int message = 0; message < 100; message++) {
        if (at.rank == 0)
            MPI_Send(content, sizeof content, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else if (at.rank == 1)
            MPI_Recv(content, sizeof content, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
