/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks exchange 9000 messages of all sizes and tags, and wait for all of them at once. */
#include <mpi.h>
#include <stdlib.h>

enum { MESSAGES = 9000, LARGEST = 100003 };

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *sent = calloc(LARGEST, 1), *received = calloc(LARGEST, 1);
    MPI_Request *requests = malloc(2 * MESSAGES * sizeof *requests);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(received, LARGEST, MPI_CHAR, 1 - rank, i % 1000, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(sent, (int)((long)i * 7919 % LARGEST), MPI_CHAR, 1 - rank, i % 1000, MPI_COMM_WORLD,
                  &requests[MESSAGES + i]);
    MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
    free(sent);
    free(received);
    free(requests);
    MPI_Finalize();
    return 0;
}
