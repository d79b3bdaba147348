/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 sends a large message and then computes; rank 1 computes as long before it receives that. */
#include "defect.h"

enum { BYTES = 4 << 20, ROUNDS = 20 };

int main(int argc, char **argv) {
    struct defect is = begin(argc, argv);
    double work = 10000 * is.scale;
    char *data = calloc(BYTES, 1);
    for (int i = 0; i < ROUNDS; i++) {
        int done = 0;
        MPI_Request request;
        if (is.rank == 0 && is.planted) {
            MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            compute(work);
        } else if (is.rank == 0) {
            MPI_Isend(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
            compute(work);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            compute(work);
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (is.rank == 0) {
            MPI_Send(&done, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&done, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    free(data);
    MPI_Finalize();
    return 0;
}
