/* SPDX-License-Identifier: BSD-3-Clause */
/* 2.5 GiB in one message, more than an int can say: 2560 times the same MiB, to nobody and from 0 to 1. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    static char mebibyte[1 << 20];
    const long long all = 2560LL << 20;
    int rank, size;
    MPI_Datatype one, many;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Type_contiguous(1 << 20, MPI_CHAR, &one);
    MPI_Type_create_hvector(2560, 1, 0, one, &many);
    MPI_Type_commit(&many);
    MPI_Send(mebibyte, 1, many, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    if (rank == 0 && size > 1) {
        MPI_Send(mebibyte, 1, many, 1, 0, MPI_COMM_WORLD);
        sent("MPI_Send", 1, 1, all);
    } else if (rank == 1) {
        MPI_Recv(mebibyte, 1, many, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        received("MPI_Recv", 0, 1, all);
    }
    MPI_Type_free(&many);
    MPI_Type_free(&one);
    expect_close();
    MPI_Finalize();
    return 0;
}
