/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chapter 11 of MPI: each world starts a second one of 2 processes. Parent r sends 10 (r + 1) bytes to each
 * child, child c answers with 100 (c + 1) bytes; children also exchange 7 bytes among themselves. With the
 * argument `multiple` they are started as two commands. Children that do not have the arguments they were
 * given send nothing.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "../expect.h"

enum { CHILDREN = 2 };

static char *arguments[] = {"two words", "a=b", NULL};

static void as_child(MPI_Comm parents) {
    char bytes[1000] = {0};
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_remote_size(parents, &size);
    MPI_Sendrecv(bytes, 7, MPI_CHAR, !rank, 1, bytes + 500, 7, MPI_CHAR, !rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        MPI_Recv(bytes, 1000, MPI_CHAR, MPI_ANY_SOURCE, 0, parents, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        MPI_Send(bytes, 100 * (rank + 1), MPI_CHAR, i, 0, parents);
}

static int spawn(char *program, MPI_Comm *children) {
    int codes[CHILDREN];
    return MPI_Comm_spawn(program, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes);
}

static int spawn_multiple(char *program, MPI_Comm *children) {
    char *programs[] = {program, program}, **all[] = {arguments, arguments};
    const int each[] = {1, 1};
    const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    int codes[CHILDREN];
    return MPI_Comm_spawn_multiple(2, programs, all, each, infos, 0, MPI_COMM_WORLD, children, codes);
}

static void as_parent(char *program, int multiple) {
    char bytes[1000] = {0};
    int rank;
    MPI_Comm children;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect_open(rank);
    (multiple ? spawn_multiple : spawn)(program, &children);
    for (int i = 0; i < CHILDREN; i++)
        MPI_Send(bytes, 10 * (rank + 1), MPI_CHAR, i, 0, children);
    for (int i = 0; i < CHILDREN; i++)
        MPI_Recv(bytes, 1000, MPI_CHAR, MPI_ANY_SOURCE, 0, children, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&children);
    called(multiple ? "MPI_Comm_spawn_multiple" : "MPI_Comm_spawn", 1);
    called("MPI_Comm_disconnect", 1);
    expect_close();
}

int main(int argc, char **argv) {
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL) {
        as_parent(argv[0], argc == 2 && strcmp(argv[1], "multiple") == 0);
    } else {
        if (argc == 3 && strcmp(argv[1], arguments[0]) == 0 && strcmp(argv[2], arguments[1]) == 0)
            as_child(parents);
        MPI_Comm_disconnect(&parents);
    }
    MPI_Finalize();
    return 0;
}
