/* SPDX-License-Identifier: BSD-3-Clause */
/* A window whose communicator nobody named: 5 puts of 400 bytes. */
#include <mpi.h>

#include "../expect.h"

int main(int argc, char **argv) {
    int rank, size;
    char out[400] = {0}, *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Win_allocate(400, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 5; i++) {
        MPI_Win_fence(0, win);
        MPI_Put(out, 400, MPI_CHAR, (rank + 1) % size, 0, 400, MPI_CHAR, win);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
    sent("MPI_Put", (rank + 1) % size, 5, 2000);
    called("MPI_Win_allocate", 1);
    expect_close();
    MPI_Finalize();
    return 0;
}
