/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of the same arguments again and again, while communicators, datatypes and operations behind
 * these are freed and made anew, so that their handles come again. 2 ranks.
 */
#include <mpi.h>

static int rank, in[64], out[64];

static void add(void *from, void *to, int *count, MPI_Datatype *datatype) {
    (void)datatype;
    for (int i = 0; i < *count; i++)
        ((int *)to)[i] += ((int *)from)[i];
}

static void on(MPI_Comm comm, int elements) {
    MPI_Datatype several;
    MPI_Type_contiguous(elements, MPI_INT, &several);
    MPI_Type_commit(&several);
    for (int i = 0; i < 4; i++) {
        MPI_Barrier(comm);
        MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, comm);
        MPI_Bcast(in, 2, several, 0, comm);
    }
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, comm);
    MPI_Type_free(&several);
}

static void reduce(int commutes) {
    MPI_Op op;
    MPI_Op_create(add, commutes, &op);
    for (int i = 0; i < 5; i++)
        MPI_Reduce(in, out, 1, MPI_INT, op, i % 2, MPI_COMM_WORLD);
    MPI_Op_free(&op);
}

/* Counts that differ above the 32nd bit only; nothing is sent to itself. */
static void large(void) {
#if MPI_VERSION >= 4
    for (int i = 0; i < 6; i++)
        MPI_Bcast_c(in, 16 + ((MPI_Count)(i % 2) << 32), MPI_BYTE, 0, MPI_COMM_SELF);
#endif
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(i % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, &comm);
        on(comm, 1 + i);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < 4; i++)
        reduce(i % 2);
    large();
    /* Receives that end otherwise than by being waited for, and their handles again. */
    for (int i = 0; i < 8; i++) {
        MPI_Request requests[3];
        int flag = 0;
        MPI_Irecv(in, 1, MPI_INT, !rank, 99, MPI_COMM_WORLD, &requests[0]);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Irecv(in, 4, MPI_INT, !rank, i, MPI_COMM_WORLD, &requests[0]);
        MPI_Recv_init(in + 8, 8, MPI_INT, MPI_ANY_SOURCE, i + 100, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(in + 32, 16, MPI_INT, !rank, i + 200, MPI_COMM_WORLD, &requests[2]);
        MPI_Start(&requests[1]);
        for (int j = 0; j < 3; j++)
            MPI_Send(out, 2 + j, MPI_INT, !rank, i + 100 * j, MPI_COMM_WORLD);
        while (!flag)
            MPI_Test(&requests[2], &flag, MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[1]);
    }
    MPI_Finalize();
    return 0;
}
