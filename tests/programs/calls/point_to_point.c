/* SPDX-License-Identifier: BSD-3-Clause */
/* Chapter 3 of MPI: every mode of sending and receiving, round a ring of any size. */
#include <mpi.h>
#include <string.h>

#include "../expect.h"

static int rank, size, next, previous;
static char out[4096], in[4096];
static const MPI_Comm world = MPI_COMM_WORLD;

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* One message of each mode, the receive posted before it (ready mode needs that), and one to nobody. */
static void modes(void) {
    static send_function *const sends[] = {MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend};
    static const char *const names[] = {"MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend"};
    static isend_function *const isends[] = {MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
    static const char *const inames[] = {"MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend"};
    for (int i = 0; i < 4; i++) {
        MPI_Request requests[2];
        MPI_Irecv(in, 4096, MPI_CHAR, previous, i, world, &requests[0]);
        MPI_Barrier(world);
        sends[i](out, 100 + i, MPI_CHAR, next, i, world);
        sent(names[i], next, 1, 100 + i);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Irecv(in, 4096, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &requests[0]);
        MPI_Barrier(world);
        isends[i](out, 200 + i, MPI_CHAR, next, i, world, &requests[1]);
        sent(inames[i], next, 1, 200 + i);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        received("MPI_Irecv", previous, 2, 300 + 2 * i);
        sends[i](out, 50, MPI_CHAR, MPI_PROC_NULL, 0, world);
        isends[i](out, 50, MPI_CHAR, MPI_PROC_NULL, 0, world, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        collective("MPI_Barrier", 0, 2);
    }
}

/* Each persistent mode three times. */
static void persistent(void) {
    typedef int init(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static init *const inits[] = {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init};
    static const char *const names[] = {"MPI_Send_init", "MPI_Bsend_init", "MPI_Ssend_init",
                                        "MPI_Rsend_init"};
    for (int i = 0; i < 4; i++) {
        MPI_Request requests[2];
        MPI_Recv_init(in, 4096, MPI_CHAR, i % 2 ? MPI_ANY_SOURCE : previous, 5, world, &requests[0]);
        inits[i](out, 70 + i, MPI_CHAR, next, 5, world, &requests[1]);
        for (int lap = 0; lap < 3; lap++) {
            MPI_Start(&requests[0]);
            MPI_Barrier(world);
            MPI_Startall(1, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        collective("MPI_Barrier", 0, 3);
        sent(names[i], next, 3, 3 * (70 + i));
        received("MPI_Recv_init", previous, 3, 3 * (70 + i));
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
}

static void wildcards_and_probes(void) {
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    MPI_Isend(out, 10, MPI_CHAR, next, 1, world, &request);
    MPI_Recv(in, 4096, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
    received("MPI_Recv", previous, 1, 10);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, 20, MPI_CHAR, next, 2, world, &request);
    MPI_Mprobe(MPI_ANY_SOURCE, 2, world, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 4096, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    received("MPI_Mrecv", previous, 1, 20);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, 30, MPI_CHAR, next, 3, world, &request);
    while (!flag)
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &message, &status);
    MPI_Request receive;
    MPI_Imrecv(in, 4096, MPI_CHAR, &message, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    received("MPI_Imrecv", previous, 1, 30);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 2, world, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 4096, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    sent("MPI_Isend", next, 3, 60);
}

static void both_ways(void) {
    MPI_Sendrecv(out, 11, MPI_CHAR, next, 1, in, 4096, MPI_CHAR, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);
    sent("MPI_Sendrecv", next, 1, 11);
    received("MPI_Sendrecv", previous, 1, 11);
    MPI_Sendrecv(out, 11, MPI_CHAR, MPI_PROC_NULL, 1, in, 4096, MPI_CHAR, MPI_PROC_NULL, 1, world,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(in, 12, MPI_CHAR, next, 1, previous, 1, world, MPI_STATUS_IGNORE);
    sent("MPI_Sendrecv_replace", next, 1, 12);
    received("MPI_Sendrecv_replace", previous, 1, 12);
#ifdef HAVE_MPI_Isendrecv
    MPI_Request request;
    MPI_Isendrecv(out, 13, MPI_CHAR, next, 1, in, 4096, MPI_CHAR, previous, 1, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent("MPI_Isendrecv", next, 1, 13);
    MPI_Isendrecv_replace(in, 14, MPI_CHAR, next, 1, previous, 1, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent("MPI_Isendrecv_replace", next, 1, 14);
#ifdef OPEN_MPI /* MPICH's status is not that of the receive */
    received("MPI_Isendrecv", previous, 1, 13);
    received("MPI_Isendrecv_replace", previous, 1, 14);
#endif
#endif
}

/* A send that is freed before it is complete, a receive that is cancelled, a send that may be. */
static void freed_and_cancelled(void) {
    MPI_Request requests[2];
    MPI_Status status;
    int cancelled = 0;
    MPI_Irecv(in, 4096, MPI_CHAR, previous, 6, world, &requests[0]);
    MPI_Isend(out, 40, MPI_CHAR, next, 6, world, &requests[1]);
    MPI_Request_free(&requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    sent("MPI_Isend", next, 1, 40);
    received("MPI_Irecv", previous, 1, 40);
    MPI_Irecv(in, 4096, MPI_CHAR, previous, 4711, world, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(out, 45, MPI_CHAR, rank, 7, world, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled) {
        MPI_Recv(in, 4096, MPI_CHAR, rank, 7, world, MPI_STATUS_IGNORE);
        sent("MPI_Isend", rank, 1, 45);
        received("MPI_Recv", rank, 1, 45);
    }
}

/* What is transferred counts, not what is spanned. */
static void datatypes(void) {
    MPI_Datatype types[5];
    const int lengths[2] = {3, 1};
    const MPI_Aint places[2] = {0, 40};
    const MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    static const int bytes[5] = {40, 20, 24, 12, 0};
    MPI_Type_vector(10, 1, 3, MPI_INT, &types[0]);
    MPI_Type_create_struct(2, lengths, places, parts, &types[1]);
    MPI_Type_create_hvector(3, 2, 64, MPI_FLOAT, &types[2]);
    MPI_Type_create_resized(MPI_DOUBLE_INT, 0, 64, &types[3]);
    MPI_Type_contiguous(0, MPI_INT, &types[4]);
    for (int i = 0; i < 5; i++) {
        MPI_Request request;
        MPI_Type_commit(&types[i]);
        MPI_Isend(out, 2, types[i], next, 8, world, &request);
        MPI_Recv(in, 2, types[i], previous, 8, world, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent("MPI_Isend", next, 1, 2 * bytes[i]);
        received("MPI_Recv", previous, 1, 2 * bytes[i]);
        MPI_Type_free(&types[i]);
    }
}

#ifdef HAVE_MPI_Send_c
static void large_counts(void) {
    MPI_Request requests[2];
    MPI_Irecv_c(in, 4096, MPI_CHAR, MPI_ANY_SOURCE, 9, world, &requests[0]);
    MPI_Send_c(out, 61, MPI_CHAR, next, 9, world);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    sent("MPI_Send_c", next, 1, 61);
    received("MPI_Irecv_c", previous, 1, 61);
    MPI_Isend_c(out, 62, MPI_CHAR, next, 9, world, &requests[0]);
    MPI_Recv_c(in, 4096, MPI_CHAR, previous, 9, world, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    sent("MPI_Isend_c", next, 1, 62);
    received("MPI_Recv_c", previous, 1, 62);
    MPI_Recv_init_c(in, 4096, MPI_CHAR, previous, 9, world, &requests[0]);
    MPI_Ssend_init_c(out, 63, MPI_CHAR, next, 9, world, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    sent("MPI_Ssend_init_c", next, 1, 63);
    received("MPI_Recv_init_c", previous, 1, 63);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}
#endif

int main(int argc, char **argv) {
    static char buffer[1 << 16];
    void *detached;
    int bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    expect_open(rank);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    MPI_Buffer_attach(buffer, sizeof buffer);
    modes();
    persistent();
    wildcards_and_probes();
    both_ways();
    freed_and_cancelled();
    datatypes();
#ifdef HAVE_MPI_Send_c
    large_counts();
#endif
    MPI_Buffer_detach(&detached, &bytes);
    expect_close();
    MPI_Finalize();
    return 0;
}
