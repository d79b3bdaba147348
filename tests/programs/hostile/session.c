/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions and no MPI_Init: who is who is known from the first session on. */
#include <mpi.h>

#include "../expect.h"

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    char out[10] = {0}, in[10];
    int rank, size;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "rankwise", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    expect_open(rank);
    for (int i = 0; i < 7; i++)
        MPI_Sendrecv(out, 10, MPI_CHAR, (rank + 1) % size, 0, in, 10, MPI_CHAR, MPI_ANY_SOURCE, 0, comm,
                     MPI_STATUS_IGNORE);
    sent("MPI_Sendrecv", (rank + 1) % size, 7, 70);
    received("MPI_Sendrecv", (rank + size - 1) % size, 7, 70);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    expect_close();
    MPI_Session_finalize(&session);
    return 0;
}
