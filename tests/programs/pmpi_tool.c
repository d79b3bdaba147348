/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiling tool as users have them: it counts MPI_Send, adds a barrier of its own, and speaks at the end.
 */
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("tool: %d sends\n", sends);
    return PMPI_Finalize();
}
