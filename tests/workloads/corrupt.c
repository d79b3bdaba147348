/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: turns one bit of what rank 1 sends. Its tenth MPI_Send or MPI_Isend, or its second MPI_Alltoall.
 */
#include <mpi.h>

static int is_rank_1(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 1;
}

static void corrupt_tenth(const void *buffer, int count, MPI_Datatype type) {
    static int sends;
    int bytes;
    PMPI_Type_size(type, &bytes);
    if (is_rank_1() && ++sends == 10)
        ((unsigned char *)buffer)[count * bytes / 2] ^= 16;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm) {
    corrupt_tenth(buffer, count, type);
    return PMPI_Send(buffer, count, type, destination, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
              MPI_Request *request) {
    corrupt_tenth(buffer, count, type);
    return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}

int MPI_Alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
    static int calls;
    int size, bytes;
    PMPI_Type_size(out_type, &bytes);
    PMPI_Comm_size(comm, &size);
    if (is_rank_1() && ++calls == 2)
        ((unsigned char *)out)[(long)out_count * bytes * size - 1] ^= 1;
    return PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, comm);
}
