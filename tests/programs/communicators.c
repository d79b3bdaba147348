/* SPDX-License-Identifier: BSD-3-Clause */
/* Four ranks. In each communicator every rank sends, by a call of its own and 100 bytes, to its successor
 * there. */
#include <mpi.h>
#include <stdio.h>

static char out[100], in[100];

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void to_successor(MPI_Comm comm, send_function *send) {
    int rank, size;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Irecv(in, 100, MPI_CHAR, MPI_ANY_SOURCE, 0, comm, &request);
    MPI_Request sent;
    send(out, 100, MPI_CHAR, (rank + 1) % size, 0, comm, &sent);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int blocking_send(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request *r) {
    *r = MPI_REQUEST_NULL;
    return MPI_Send(buf, n, type, to, tag, comm);
}

static int blocking_ssend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                          MPI_Request *r) {
    *r = MPI_REQUEST_NULL;
    return MPI_Ssend(buf, n, type, to, tag, comm);
}

int main(int argc, char **argv) {
    int rank, size, dims[2] = {2, 2}, periods[2] = {1, 1}, three[3] = {3, 0, 2};
    MPI_Comm comm, inter;
    MPI_Group world, group;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* MPI_Isend: r -> r + 1 */
    to_successor(comm, MPI_Isend);
    MPI_Comm_free(&comm);

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm); /* MPI_Issend: {2,0} {3,1} */
    to_successor(comm, MPI_Issend);
    MPI_Comm_free(&comm);

    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm); /* MPI_Send, whatever the order */
    to_successor(comm, blocking_send);
    MPI_Comm_free(&comm);

    /* MPI_Ssend: 3 -> 0 -> 2 -> 3 */
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, three, &group);
    if (rank != 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &comm);
        to_successor(comm, blocking_ssend);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    /* MPI_Send of 10 bytes between {0,1} and {2,3}: r -> r + 2 */
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &comm);
    MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 3, &inter);
    if (rank < 2)
        MPI_Rsend(out, 0, MPI_CHAR, MPI_PROC_NULL, 0, inter);
    MPI_Sendrecv(out, 10, MPI_CHAR, rank % 2, 0, in, 10, MPI_CHAR, rank % 2, 0, inter, MPI_STATUS_IGNORE);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&comm);

    /* 60 communicators of one group, and nonblocking duplication */
    for (int i = 0; i < 60; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, rank < 3, rank, &comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 20, MPI_CHAR, (rank + 1) % size, 0, (rank + size - 1) % size, 0, comm,
                         MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
