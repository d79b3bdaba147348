/* SPDX-License-Identifier: BSD-3-Clause */
/* Chapters 7 and 11 of MPI: peers are world ranks in every communicator, however it was made. */
#include <mpi.h>

#include "../expect.h"

static int rank, size;
static char out[100], in[100];

/* One message to the successor there; `reversed` says in which order the ranks of the world are. */
static void to_successor(MPI_Comm comm, int bytes, int reversed) {
    int self, n;
    MPI_Comm_rank(comm, &self);
    MPI_Comm_size(comm, &n);
    const int step = reversed ? size - 1 : 1;
    MPI_Sendrecv(out, bytes, MPI_CHAR, (self + 1) % n, 0, in, 100, MPI_CHAR, MPI_ANY_SOURCE, 0, comm,
                 MPI_STATUS_IGNORE);
    sent("MPI_Sendrecv", (rank + step) % size, 1, bytes);
    received("MPI_Sendrecv", (rank + size - step) % size, 1, bytes);
}

/* 300 times over: handles are used again for other groups. */
static void many(void) {
    for (int i = 0; i < 300; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -rank : rank, &comm);
        if (i % 50 == 49 || i % 50 == 0)
            to_successor(comm, 4, i % 2);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv) {
    MPI_Comm comm, other;
    MPI_Group world, group;
    MPI_Request request;
    int range[1][3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    to_successor(comm, 1, 0);
    MPI_Comm_split(comm, 0, -rank, &other);
    MPI_Comm_free(&comm);
    to_successor(other, 2, 1);
    MPI_Comm_idup(other, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    to_successor(comm, 3, 1);
    MPI_Comm_free(&other);
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    to_successor(comm, 5, 0);
    MPI_Comm_free(&comm);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    range[0][0] = size - 1;
    range[0][1] = 0;
    range[0][2] = -1;
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    to_successor(comm, 6, 1);
    MPI_Comm_free(&comm);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &comm);
    to_successor(comm, 7, 1);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    if (size > 1) { /* a merged intercommunicator: even ranks first, odd ones behind them */
        MPI_Comm half, inter;
        int self;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 1, &inter);
        MPI_Comm_rank(half, &self);
        int remote;
        MPI_Comm_remote_size(inter, &remote);
        if (self < remote && (self < size / 2)) { /* 2 k and 2 k + 1 exchange 8 bytes */
            MPI_Sendrecv(out, 8, MPI_CHAR, self, 0, in, 100, MPI_CHAR, MPI_ANY_SOURCE, 0, inter,
                         MPI_STATUS_IGNORE);
            sent("MPI_Sendrecv", rank ^ 1, 1, 8);
            received("MPI_Sendrecv", rank ^ 1, 1, 8);
        }
        MPI_Intercomm_merge(inter, rank % 2, &comm);
        if (rank < 2) { /* 0 is the first one, 1 the first behind the even ones */
            const int peer = rank ? 0 : (size + 1) / 2;
            MPI_Sendrecv(out, 9, MPI_CHAR, peer, 0, in, 100, MPI_CHAR, peer, 0, comm, MPI_STATUS_IGNORE);
            sent("MPI_Sendrecv", !rank, 1, 9);
            received("MPI_Sendrecv", !rank, 1, 9);
        }
        MPI_Comm_free(&comm);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    many();
    expect_close();
    MPI_Finalize();
    return 0;
}
