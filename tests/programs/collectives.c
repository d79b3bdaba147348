/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four ranks call every collective with arguments that are easily read wrongly: in place, significant at the
 * root only (elsewhere they are null or wild), one datatype for each rank, two groups, nobody but myself.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

static int rank, size;
static int out[4096], in[4096];

/* What must not be looked at. */
static const int *const nowhere = NULL;

static void add(void *a, void *b, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)b)[i] += ((int *)a)[i];
}

static void rooted(void) {
    int counts[4] = {1, 2, 3, 4}, displacements[4] = {0, 10, 20, 30};
    const int root = 1, is_root = rank == root;
    MPI_Bcast(out, 100, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Reduce(is_root ? MPI_IN_PLACE : (void *)out, is_root ? in : NULL, 50, MPI_INT, MPI_SUM, root,
               MPI_COMM_WORLD);
    MPI_Gather(is_root ? MPI_IN_PLACE : (void *)out, is_root ? 0 : 8, is_root ? MPI_DATATYPE_NULL : MPI_INT,
               is_root ? in : NULL, is_root ? 8 : 0, is_root ? MPI_INT : MPI_DATATYPE_NULL, root,
               MPI_COMM_WORLD);
    MPI_Scatter(is_root ? out : NULL, is_root ? 6 : 0, is_root ? MPI_INT : MPI_DATATYPE_NULL,
                is_root ? MPI_IN_PLACE : (void *)in, is_root ? 0 : 6, is_root ? MPI_DATATYPE_NULL : MPI_INT,
                root, MPI_COMM_WORLD);
    MPI_Gatherv(out, rank + 1, MPI_INT, is_root ? in : NULL, is_root ? counts : nowhere,
                is_root ? displacements : nowhere, is_root ? MPI_INT : MPI_DATATYPE_NULL, root,
                MPI_COMM_WORLD);
    MPI_Scatterv(is_root ? out : NULL, is_root ? counts : nowhere, is_root ? displacements : nowhere,
                 is_root ? MPI_INT : MPI_DATATYPE_NULL, in, rank + 1, MPI_INT, root, MPI_COMM_WORLD);
}

static void for_all(void) {
    int counts[4] = {1, 2, 3, 4}, displacements[4] = {0, 10, 20, 30};
    MPI_Op op;
    MPI_Op_create(add, 0, &op);
    MPI_Allreduce(MPI_IN_PLACE, in, 7, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(out, in, 9, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 5, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(out, rank + 1, MPI_INT, in, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(out, in, 11, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Exscan(out, in, 12, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

/* Rank r sends r + p bytes to p, but nothing to 3; the second time in place, 5 bytes to everybody. */
static void to_each(void) {
    int send[4], receive[4], displacements[4] = {0, 100, 200, 300}, same[4] = {5, 5, 5, 5};
    MPI_Datatype types[4], none[4];
    MPI_Request request;
    for (int p = 0; p < 4; p++) {
        send[p] = p == 3 ? 0 : rank + p;
        receive[p] = rank == 3 ? 0 : rank + p;
        types[p] = send[p] ? MPI_CHAR : MPI_DATATYPE_NULL;
        none[p] = receive[p] ? MPI_CHAR : MPI_DATATYPE_NULL;
    }
    MPI_Alltoallv(out, send, displacements, MPI_CHAR, in, receive, displacements, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, same, displacements, MPI_CHAR,
                  MPI_COMM_WORLD);
#ifdef OPEN_MPI /* which looks at every datatype */
    for (int p = 0; p < 4; p++)
        types[p] = none[p] = MPI_CHAR;
#endif
    MPI_Ialltoallw(out, send, displacements, types, in, receive, displacements, none, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A ring of four: left, then right neighbour. */
static void neighbours(void) {
    int dims[1] = {4}, periods[1] = {1}, counts[2] = {10, 20}, displacements[2] = {0, 100};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    for (int i = 0; i < 20; i++)
        MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, ring);
    MPI_Neighbor_alltoallv(out, counts, displacements, MPI_CHAR, in, (int[]){20, 10}, displacements, MPI_CHAR,
                           ring);
    MPI_Comm_free(&ring);
}

/* {0,1} and {2,3}: 1 broadcasts 40 bytes to the others, everybody sends r + 1 bytes to each of the others. */
static void between_groups(void) {
    MPI_Comm half, inter;
    int low = rank < 2, send[2] = {rank + 1, rank + 1}, displacements[2] = {0, 100};
    int receive[2] = {low ? 3 : 1, low ? 4 : 2};
    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 2 : 0, 1, &inter);
    MPI_Bcast(in, 10, MPI_INT, low ? (rank == 1 ? MPI_ROOT : MPI_PROC_NULL) : 1, inter);
    MPI_Alltoallv(out, send, displacements, MPI_CHAR, in, receive, displacements, MPI_CHAR, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rooted();
    for_all();
    to_each();
    neighbours();
    between_groups();
    MPI_Finalize();
    return 0;
}
