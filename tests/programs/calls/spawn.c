/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chapter 11 of MPI: each world starts a second one of 2 processes. Parent r sends 10 (r + 1) bytes to each child, child
 * c answers with 100 (c + 1) bytes; children also exchange 7 bytes among themselves.
 */
#include <mpi.h>
#include <stdio.h>

#include "../expect.h"

enum { CHILDREN = 2 };

static void as_child(MPI_Comm parents) {
    char bytes[1000] = {0};
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_remote_size(parents, &size);
    MPI_Sendrecv(bytes, 7, MPI_CHAR, !rank, 1, bytes + 500, 7, MPI_CHAR, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        MPI_Recv(bytes, 1000, MPI_CHAR, MPI_ANY_SOURCE, 0, parents, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        MPI_Send(bytes, 100 * (rank + 1), MPI_CHAR, i, 0, parents);
}

static void as_parent(char *program) {
    char bytes[1000] = {0};
    int rank, codes[CHILDREN];
    MPI_Comm children;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect_open(rank);
    MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    for (int i = 0; i < CHILDREN; i++)
        MPI_Send(bytes, 10 * (rank + 1), MPI_CHAR, i, 0, children);
    for (int i = 0; i < CHILDREN; i++)
        MPI_Recv(bytes, 1000, MPI_CHAR, MPI_ANY_SOURCE, 0, children, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&children);
    called("MPI_Comm_spawn", 1);
    called("MPI_Comm_disconnect", 1);
    expect_close();
}

int main(int argc, char **argv) {
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL) {
        as_parent(argv[0]);
    } else {
        as_child(parents);
        MPI_Comm_disconnect(&parents);
    }
    MPI_Finalize();
    return 0;
}
