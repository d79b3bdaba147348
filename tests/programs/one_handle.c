/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 20000 sends to MPI_PROC_NULL, for which libraries have one handle, and then a message to the other rank and
 * one from it, all outstanding at once where threads might call.
 */
#include <mpi.h>
#include <stdio.h>

enum { NOWHERE = 20000 };

int main(int argc, char **argv) {
    static MPI_Request requests[NOWHERE + 2];
    char out[8] = {0}, in[8];
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < MPI_THREAD_MULTIPLE)
        printf("no threads\n");
    for (int i = 0; i < NOWHERE; i++)
        MPI_Isend(out, i % 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(in, 8, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, &requests[NOWHERE]);
    MPI_Isend(out, 5, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, &requests[NOWHERE + 1]);
    MPI_Waitall(NOWHERE + 2, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
