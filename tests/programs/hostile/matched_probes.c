/* SPDX-License-Identifier: BSD-3-Clause */
/* Mprobe and Mrecv, Improbe and Imrecv: what was matched by anybody has its true source. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    char out[30] = {0}, in[30];
    int rank, size, found = 0;
    MPI_Message message;
    MPI_Request sends[2], receive;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < 2; i++)
        MPI_Isend(out, 20 + i, MPI_CHAR, next, i, MPI_COMM_WORLD, &sends[i]);
    MPI_Mprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 30, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    while (!found)
        MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, 30, MPI_CHAR, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    sent("MPI_Isend", next, 2, 41);
    received("MPI_Mrecv", previous, 1, 20);
    received("MPI_Imrecv", previous, 1, 21);
    expect_close();
    MPI_Finalize();
    return 0;
}
