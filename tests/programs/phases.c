/* SPDX-License-Identifier: BSD-3-Clause */
/* Says where it is with MPI_Pcontrol: by level, by name as IPM's regions, and in ways that mean no phase. */
#include <mpi.h>

static void barriers(int count) {
    while (count-- > 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    char solve[] = "solve", longer[] = "solver";
    MPI_Request request;
    int rank, one = 1, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    barriers(1);
    /* Level 7, until another level is set. */
    MPI_Pcontrol(7);
    barriers(2);
    MPI_Pcontrol(7);
    barriers(1);
    MPI_Pcontrol(0);
    barriers(5);
    /* Not this region, and texts that are none. */
    MPI_Pcontrol(1, longer);
    MPI_Pcontrol(1, (void *)1);
    MPI_Pcontrol(1, (void *)-1);
    MPI_Pcontrol(1, "sol", 2.5, 1, 2, 3, 4, 5, 6);
    barriers(7);
    MPI_Pcontrol(-1, longer);
    /* Twice this region; a request is made in it and completed after it. */
    MPI_Pcontrol(1, solve);
    MPI_Irecv(&other, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    barriers(11);
    MPI_Pcontrol(-1, "other");
    barriers(13);
    MPI_Pcontrol(-1, "solve");
    MPI_Send(&one, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1, "solve");
    barriers(17);
    MPI_Pcontrol(-1, "solve");
    MPI_Pcontrol(-1, "solve");
    barriers(3);
    MPI_Finalize();
    return 0;
}
