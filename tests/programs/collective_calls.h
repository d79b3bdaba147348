/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations by name, on bytes or, where elements are reduced, on doubles. */
#ifndef COLLECTIVE_CALLS_H
#define COLLECTIVE_CALLS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the names of the functions, of MPI_COMM_WORLD. */
static void make_communicator(const char *name, int size) {
    int rank, keep = 1, degree = 1;
    MPI_Comm made = MPI_COMM_NULL, grid = MPI_COMM_NULL;
    MPI_Group all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int before = (rank + size - 1) % size, behind = (rank + 1) % size;
    int *ends = malloc(sizeof(int) * (size_t)size), *edges = malloc(sizeof(int) * (size_t)size);
    for (int i = 0; i < size; i++) {
        ends[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    if (!strcmp(name, "MPI_Comm_split"))
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
    else if (!strcmp(name, "MPI_Comm_split_type"))
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    else if (!strcmp(name, "MPI_Comm_dup"))
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    else if (!strcmp(name, "MPI_Comm_create")) {
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Comm_create(MPI_COMM_WORLD, all, &made);
        MPI_Group_free(&all);
    } else if (!strcmp(name, "MPI_Cart_create"))
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &keep, 1, &made);
    else if (!strcmp(name, "MPI_Cart_sub")) { /* with what its grid takes */
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &keep, 0, &grid);
        MPI_Cart_sub(grid, &keep, &made);
        MPI_Comm_free(&grid);
    } else if (!strcmp(name, "MPI_Graph_create"))
        MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &made);
    else if (!strcmp(name, "MPI_Dist_graph_create_adjacent"))
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &degree, 1, &behind, &degree,
                                       MPI_INFO_NULL, 0, &made);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    free(ends);
    free(edges);
}

/* Call it once; `bytes` are those of rw_collective_entry (formats/recording.h), of every rank alike. */
static void call_collective(const char *name, int bytes, int root) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Request request = MPI_REQUEST_NULL;
    const int doubles = bytes / 8;
    char *send = calloc((size_t)bytes + 8, (size_t)size);
    char *receive = calloc((size_t)bytes + 8, (size_t)size);
    int *counts = malloc(sizeof(int) * (size_t)size);
    int *places = malloc(sizeof(int) * (size_t)size);
    for (int i = 0; i < size; i++) {
        counts[i] = strstr(name, "reduce_scatter") ? doubles : bytes;
        places[i] = i * bytes;
    }
    if (!strcmp(name, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(name, "bcast"))
        MPI_Bcast(send, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "reduce"))
        MPI_Reduce(send, receive, doubles, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "allreduce"))
        MPI_Allreduce(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "scan"))
        MPI_Scan(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "exscan"))
        MPI_Exscan(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "gather"))
        MPI_Gather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "scatter"))
        MPI_Scatter(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "gatherv"))
        MPI_Gatherv(send, bytes, MPI_BYTE, receive, counts, places, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "allgather"))
        MPI_Allgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(name, "allgatherv"))
        MPI_Allgatherv(send, bytes, MPI_BYTE, receive, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(name, "alltoall"))
        MPI_Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(name, "alltoallv"))
        MPI_Alltoallv(send, counts, places, MPI_BYTE, receive, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(name, "reduce_scatter"))
        MPI_Reduce_scatter(send, receive, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "reduce_scatter_block"))
        MPI_Reduce_scatter_block(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "ibarrier"))
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "ibcast"))
        MPI_Ibcast(send, bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "iallreduce"))
        MPI_Iallreduce(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "ireduce"))
        MPI_Ireduce(send, receive, doubles, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "iallgather"))
        MPI_Iallgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "ialltoall"))
        MPI_Ialltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "iscan"))
        MPI_Iscan(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "iexscan"))
        MPI_Iexscan(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "igather"))
        MPI_Igather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "iscatter"))
        MPI_Iscatter(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "iallgatherv"))
        MPI_Iallgatherv(send, bytes, MPI_BYTE, receive, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "ireduce_scatter"))
        MPI_Ireduce_scatter(send, receive, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "ireduce_scatter_block"))
        MPI_Ireduce_scatter_block(send, receive, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    else if (!strcmp(name, "scatterv"))
        MPI_Scatterv(send, counts, places, MPI_BYTE, receive, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    else if (!strncmp(name, "MPI_", 4))
        make_communicator(name, size);
    else {
        fprintf(stderr, "no operation called %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(places);
    free(counts);
    free(receive);
    free(send);
}

#endif
