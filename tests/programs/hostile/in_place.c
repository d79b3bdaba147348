/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_IN_PLACE with MPI_DATATYPE_NULL and no counts at all: nothing of that may be looked at. */
#include <mpi.h>
#include <stddef.h>

#include "../expect.h"

int main(int argc, char **argv) {
    static char in[4096];
    int rank, size, counts[64], displacements[64];
    MPI_Datatype types[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    for (int i = 0; i < size; i++) {
        counts[i] = 5;
        displacements[i] = 8 * i;
        types[i] = MPI_CHAR;
    }
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, counts, displacements, MPI_CHAR,
                  MPI_COMM_WORLD);
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, counts, displacements, types, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, displacements, MPI_CHAR, MPI_COMM_WORLD);
    collective("MPI_Alltoallv", 5 * size, 1);
    collective("MPI_Alltoallw", 5 * size, 1);
    collective("MPI_Allgatherv", 5, 1);
    for (int peer = 0; peer < size; peer++) {
        if (peer == rank)
            continue;
        sent("MPI_Alltoallv", peer, 1, 5);
        sent("MPI_Alltoallw", peer, 1, 5);
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
