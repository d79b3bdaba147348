/* SPDX-License-Identifier: BSD-3-Clause */
/* 10 persistent sends of 2000 bytes: nothing is sent where they are made, everything where they are started.
 */
#include <mpi.h>

#include "../expect.h"

/* Asked for its status before it is completed: some libraries have none left for who completes it. */
static void asked_first(int rank, int size) {
    static char out[300], in[300];
    MPI_Request requests[2];
    int flag;
    MPI_Ssend_init(out, 300, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 300, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 4; i++) {
        MPI_Startall(2, requests);
        for (flag = 0; !flag;)
            MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    sent("MPI_Ssend_init", (rank + 1) % size, 4, 1200);
    received("MPI_Recv_init", (rank + size - 1) % size, 4, 1200);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/*
 * The program has freed the communicator, of which the library only keeps what the collective needs. Open
 * MPI, up to 5.0.11 at least, aborts there by itself.
 */
static void after_its_communicator(int rank, int size) {
#if defined(HAVE_MPI_Alltoallv_init) && !defined(OPEN_MPI)
    static int out[64], in[64], ones[64], displacements[64];
    MPI_Comm comm, others[3];
    MPI_Request request;
    for (int i = 0; i < size; i++) {
        ones[i] = 1;
        displacements[i] = i;
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Alltoallv_init(out, ones, displacements, MPI_INT, in, ones, displacements, MPI_INT, comm,
                       MPI_INFO_NULL, &request);
    MPI_Comm_free(&comm);
    for (int i = 0; i < 3; i++)
        MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &others[i]);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < size; i++)
        if (i != rank)
            sent("MPI_Alltoallv_init", i, 2, 8);
    collective("MPI_Alltoallv_init", 4 * size, 2);
    MPI_Request_free(&request);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&others[i]);
#else
    (void)rank;
    (void)size;
#endif
}

int main(int argc, char **argv) {
    static char out[2000], in[2000];
    int rank, size;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    MPI_Send_init(out, 2000, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, 2000, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 10; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    sent("MPI_Send_init", (rank + 1) % size, 10, 20000);
    received("MPI_Recv_init", (rank + size - 1) % size, 10, 20000);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    asked_first(rank, size);
    after_its_communicator(rank, size);
    expect_close();
    MPI_Finalize();
    return 0;
}
