/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI without MPI_Init: a session, a communicator of its world, 7 messages to the successor. */
#include <mpi.h>

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size;
    char out[10] = {0}, in[10];
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "rankwise", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 7; i++)
        MPI_Sendrecv(out, 10, MPI_CHAR, (rank + 1) % size, 0, in, 10, MPI_CHAR, (rank + size - 1) % size, 0,
                     comm, MPI_STATUS_IGNORE);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
