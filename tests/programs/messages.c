/* SPDX-License-Identifier: BSD-3-Clause */
/* Four ranks; each kind of message goes by a call of its own, so that counts by call are known answers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static char out[100000], in[100000];

static void check(int condition, const char *what) {
    if (!condition) {
        printf("rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* Rank r > 0 sends 100 r bytes to 0, which takes whoever comes and ignores the status. */
static void wildcard(void) {
    if (rank)
        MPI_Ssend(out, 100 * rank, MPI_CHAR, 0, rank, MPI_COMM_WORLD);
    else
        for (int i = 1; i < size; i++)
            MPI_Recv(in, sizeof in, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* 0 -> 1: ten times 2000 bytes by one persistent send. */
static void persistent(void) {
    MPI_Request request;
    if (rank > 1)
        return;
    if (rank == 0)
        MPI_Send_init(out, 2000, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(in, 5000, MPI_CHAR, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 10; i++) {
        MPI_Status status;
        if (i % 2)
            MPI_Start(&request);
        else
            MPI_Startall(1, &request);
        if (i % 3)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else {
            int done = 0;
            while (!done)
                MPI_Test(&request, &done, &status);
            check(rank == 0 || status.MPI_SOURCE == 0, "source of a persistent receive");
        }
    }
    MPI_Request_free(&request);
}

/* Nothing at all. */
static void proc_null(void) {
    MPI_Request requests[2];
    MPI_Status status;
    for (int i = 0; i < 10; i++)
        MPI_Bsend(out, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Issend(out, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(in, 1000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    check(status.MPI_SOURCE == MPI_PROC_NULL, "status of a receive from MPI_PROC_NULL");
}

/* Everybody to everybody else, 10 (r + 1) bytes from r, in 40 requests and more, completed in the way `how`
 * says. */
static void nonblocking(int how) {
    MPI_Request requests[2 * 64];
    MPI_Status statuses[2 * 64];
    int n = 0, indices[2 * 64];
    for (int peer = 0; peer < size; peer++) {
        for (int i = 0; i < 8 && peer != rank; i++) {
            char *at = in + 1000 * (8 * peer + i);
            MPI_Irecv(at, 1000, MPI_CHAR, how % 2 ? MPI_ANY_SOURCE : peer, how, MPI_COMM_WORLD,
                      &requests[n++]);
            MPI_Isend(out, 10 * (rank + 1), MPI_CHAR, peer, how, MPI_COMM_WORLD, &requests[n++]);
        }
    }
    int done = 0, left = n, some = 0, index;
    switch (how) {
    case 0:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        memset(statuses, -1, sizeof statuses);
        MPI_Waitall(n, requests, statuses);
        check(statuses[0].MPI_SOURCE >= 0 && statuses[0].MPI_SOURCE < size, "status of MPI_Waitall");
        break;
    case 2:
        for (; left; left--)
            MPI_Waitany(n, requests, &index, left % 2 ? MPI_STATUS_IGNORE : statuses);
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        check(index == MPI_UNDEFINED, "index of MPI_Waitany on nothing");
        break;
    case 3:
        for (; left; left -= some)
            MPI_Waitsome(n, requests, &some, indices, MPI_STATUSES_IGNORE);
        break;
    case 4:
        while (!done)
            MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        break;
    case 5:
        while (left) {
            MPI_Testsome(n, requests, &some, indices, statuses);
            left -= some;
        }
        break;
    default:
        while (left) {
            MPI_Testany(n, requests, &index, &done, MPI_STATUS_IGNORE);
            left -= done && index != MPI_UNDEFINED;
        }
    }
    for (int i = 0; i < n; i++)
        check(requests[i] == MPI_REQUEST_NULL, "a request that is left");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* r -> r + 1: 300 bytes, received after a matching probe. */
static void matched(void) {
    MPI_Message message;
    MPI_Status status;
    MPI_Request send, receive;
    int flag = 0, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Issend(out, 300, MPI_CHAR, next, 9, MPI_COMM_WORLD, &send);
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 300, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Issend(out, 300, MPI_CHAR, next, 10, MPI_COMM_WORLD, &send);
    while (!flag)
        MPI_Improbe(previous, 10, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Imrecv(in, 300, MPI_CHAR, &message, &receive);
    MPI_Wait(&receive, &status);
    check(status.MPI_SOURCE == previous, "source of a matched receive");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/* A strided type of ten ints, an empty one, a cancelled receive, a message of zero bytes, one to myself. */
static void odd_ones(void) {
    MPI_Datatype strided, empty;
    MPI_Request request;
    MPI_Status status;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, cancelled = 0, count;
    MPI_Type_vector(10, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Sendrecv(out, 1, strided, next, 11, in, 10, MPI_INT, previous, 11, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    check(count == 10 && status.MPI_SOURCE == previous, "status of MPI_Sendrecv");
    MPI_Type_free(&strided);
    MPI_Type_vector(20, 1, 2, MPI_INT, &strided); /* likely the same handle */
    MPI_Type_commit(&strided);
    MPI_Sendrecv(out, 1, strided, next, 11, in, 20, MPI_INT, previous, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 3, empty, next, 12, previous, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 70, MPI_BYTE, rank, 12, rank, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, next, 4711, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    check(cancelled, "a receive that was cancelled");
    MPI_Type_free(&strided);
    MPI_Type_free(&empty);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wildcard();
    MPI_Barrier(MPI_COMM_WORLD);
    persistent();
    MPI_Barrier(MPI_COMM_WORLD);
    proc_null();
    for (int how = 0; how < 7; how++)
        nonblocking(how);
    matched();
    MPI_Barrier(MPI_COMM_WORLD);
    odd_ones();
    MPI_Finalize();
    return 0;
}
