/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: writes every call as a line to $CALL_LOG.RANK: "call peer tag bytes" of sends, "call peer tag"
 * of receives (any source is -1), "call root bytes" of collectives.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *calls;

__attribute__((format(printf, 1, 2))) static void log_call(const char *format, ...) {
    if (calls == NULL) {
        char path[4096];
        int rank;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(path, sizeof path, "%s.%d", getenv("CALL_LOG"), rank);
        calls = fopen(path, "w");
    }
    va_list values;
    va_start(values, format);
    vfprintf(calls, format, values);
    va_end(values);
}

static long size_of(long count, MPI_Datatype type) {
    int bytes;
    PMPI_Type_size(type, &bytes);
    return count * bytes;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    log_call("MPI_Send %d %d %ld\n", destination, tag, size_of(count, type));
    return PMPI_Send(buffer, count, type, destination, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
              MPI_Request *request) {
    log_call("MPI_Isend %d %d %ld\n", destination, tag, size_of(count, type));
    return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    log_call("MPI_Recv %d %d\n", source == MPI_ANY_SOURCE ? -1 : source, tag);
    return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request) {
    log_call("MPI_Irecv %d %d\n", source == MPI_ANY_SOURCE ? -1 : source, tag);
    return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    log_call("MPI_Wait\n");
    return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    log_call("MPI_Waitall %d\n", count);
    return PMPI_Waitall(count, requests, statuses);
}

int MPI_Barrier(MPI_Comm comm) {
    log_call("MPI_Barrier -1 0\n");
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    log_call("MPI_Bcast %d %ld\n", root, size_of(count, type));
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op operation, int root,
               MPI_Comm comm) {
    log_call("MPI_Reduce %d %ld\n", root, size_of(count, type));
    return PMPI_Reduce(mine, all, count, type, operation, root, comm);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
    log_call("MPI_Allreduce -1 %ld\n", size_of(count, type));
    return PMPI_Allreduce(mine, all, count, type, operation, comm);
}

int MPI_Allgather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm) {
    log_call("MPI_Allgather -1 %ld\n", size_of(out_count, out_type));
    return PMPI_Allgather(out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
    log_call("MPI_Alltoall -1 %ld\n", size_of(out_count, out_type));
    return PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Alltoallv(const void *out, const int sent[], const int sent_at[], MPI_Datatype out_type, void *in,
                  const int received[], const int received_at[], MPI_Datatype in_type, MPI_Comm comm) {
    int size;
    long sum = 0;
    PMPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++)
        sum += sent[i];
    log_call("MPI_Alltoallv -1 %ld\n", size_of(sum, out_type));
    return PMPI_Alltoallv(out, sent, sent_at, out_type, in, received, received_at, in_type, comm);
}

int MPI_Finalize(void) {
    if (calls)
        fclose(calls);
    return PMPI_Finalize();
}
