/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: a network that damages a bit of every message of 1000 bytes. */
#include <mpi.h>

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    const int result = PMPI_Recv(buffer, count, type, source, tag, comm, status);
    if (count == 1000)
        ((char *)buffer)[500] ^= 1;
    return result;
}
