/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions one after the other, the first of them after MPI_Finalize with `world`: 100 allreduces in each. */
#include <mpi.h>
#include <string.h>

static void work(MPI_Comm comm) {
    int value = 1;
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm);
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "world") == 0) {
        MPI_Init(&count, &words);
        work(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    for (int i = 0; i < 3; i++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        work(comm);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
    }
    return 0;
}
