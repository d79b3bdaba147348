// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every action that SimGrid writes into its time-independent traces, on four ranks. tests/schedule/traces is
 * what smpirun -np 4 -trace-ti --cfg=smpi/host-speed:1000000f of SimGrid 3.32 wrote of it.
 */
#include <mpi.h>

static double a[1000], b[1000];

static void point_to_point(int rank, int next, int previous) {
    MPI_Request requests[2];
    MPI_Irecv(b, 1000, MPI_DOUBLE, previous, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(a, 1000, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Irecv(b, 10, MPI_INT, previous, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(a, 10, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Send(a, 5, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(b, 5, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(a, 11, MPI_DOUBLE, next, 4, b, 11, MPI_DOUBLE, previous, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void collectives(int rank) {
    const int counts[4] = {1, 2, 3, 4}, displacements[4] = {0, 1, 3, 6};
    const int same[4] = {rank + 1, rank + 1, rank + 1, rank + 1};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(a, 100, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Reduce(a, b, 100, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
    MPI_Allreduce(a, b, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Scatter(a, 4, MPI_DOUBLE, b, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgather(a, 5, MPI_DOUBLE, b, 5, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(a, 6, MPI_INT, b, 6, MPI_INT, MPI_COMM_WORLD);
    MPI_Gatherv(a, rank + 1, MPI_DOUBLE, b, counts, displacements, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatterv(a, counts, displacements, MPI_DOUBLE, b, rank + 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Allgatherv(a, rank + 1, MPI_DOUBLE, b, counts, displacements, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoallv(a, counts, displacements, MPI_DOUBLE, b, same, displacements, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(a, b, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(a, b, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    point_to_point(rank, (rank + 1) % size, (rank + size - 1) % size);
    collectives(rank);
    MPI_Finalize();
    return 0;
}
