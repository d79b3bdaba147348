/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations by name, on bytes or, where elements are reduced, on doubles. */
#ifndef COLLECTIVE_CALLS_H
#define COLLECTIVE_CALLS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
