/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: writes every send and collective call as a line "call peer_or_root bytes" to $CALL_LOG.RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *calls;

static void log_call(const char *call, int peer, long count, MPI_Datatype type) {
    int bytes = 0;
    if (calls == NULL) {
        char path[4096];
        int rank;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(path, sizeof path, "%s.%d", getenv("CALL_LOG"), rank);
        calls = fopen(path, "w");
    }
    if (type != MPI_DATATYPE_NULL)
        PMPI_Type_size(type, &bytes);
    fprintf(calls, "%s %d %ld\n", call, peer, count * bytes);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    log_call("MPI_Send", destination, count, type);
    return PMPI_Send(buffer, count, type, destination, tag, comm);
}

int MPI_Barrier(MPI_Comm comm) {
    log_call("MPI_Barrier", -1, 0, MPI_DATATYPE_NULL);
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    log_call("MPI_Bcast", root, count, type);
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op operation, int root,
               MPI_Comm comm) {
    log_call("MPI_Reduce", root, count, type);
    return PMPI_Reduce(mine, all, count, type, operation, root, comm);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
    log_call("MPI_Allreduce", -1, count, type);
    return PMPI_Allreduce(mine, all, count, type, operation, comm);
}

int MPI_Alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
    log_call("MPI_Alltoall", -1, out_count, out_type);
    return PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Finalize(void) {
    if (calls)
        fclose(calls);
    return PMPI_Finalize();
}
