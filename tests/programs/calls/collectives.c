/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chapter 6 of MPI: every collective, blocking, nonblocking, persistent and with large counts where the
 * library has them, in the world, in place, in a communicator of its own and between two groups.
 */
#include <mpi.h>

#include "../expect.h"

static int rank, size;
static int out[4096], in[4096];

/* Each operation once; `bytes` of its entry is what formats/recording.h says. */
static void blocking(MPI_Comm comm, int root) {
    int counts[64], displacements[64], self, n;
    MPI_Comm_rank(comm, &self);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < n; i++) {
        counts[i] = 2;
        displacements[i] = 3 * i;
    }
    MPI_Barrier(comm);
    MPI_Bcast(in, 10, MPI_INT, root, comm);
    MPI_Reduce(out, in, 11, MPI_INT, MPI_SUM, root, comm);
    MPI_Allreduce(out, in, 12, MPI_INT, MPI_MAX, comm);
    MPI_Gather(out, 3, MPI_INT, in, 3, MPI_INT, root, comm);
    MPI_Scatter(out, 4, MPI_INT, in, 4, MPI_INT, root, comm);
    MPI_Allgather(out, 5, MPI_INT, in, 5, MPI_INT, comm);
    MPI_Alltoall(out, 6, MPI_INT, in, 6, MPI_INT, comm);
    MPI_Reduce_scatter_block(out, in, 7, MPI_INT, MPI_SUM, comm);
    MPI_Scan(out, in, 8, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(out, in, 9, MPI_INT, MPI_SUM, comm);
    MPI_Allgatherv(out, 2, MPI_INT, in, counts, displacements, MPI_INT, comm);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
    static const struct {
        const char *name;
        int bytes;
    } all[] = {{"MPI_Barrier", 0},       {"MPI_Bcast", 40},    {"MPI_Reduce", 44},
               {"MPI_Allreduce", 48},    {"MPI_Gather", 12},   {"MPI_Scatter", 16},
               {"MPI_Allgather", 20},    {"MPI_Alltoall", 24}, {"MPI_Reduce_scatter_block", 28},
               {"MPI_Scan", 32},         {"MPI_Exscan", 36},   {"MPI_Allgatherv", 8},
               {"MPI_Reduce_scatter", 8}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        collective(all[i].name, all[i].bytes, 1);
}

/* What only the caller knows is entered as messages too: 2 ints to each other rank of the world. */
static void to_each(void) {
    int counts[64], displacements[64];
    MPI_Datatype types[64];
    for (int i = 0; i < size; i++) {
        counts[i] = 2;
        displacements[i] = 12 * i;
        types[i] = MPI_INT;
    }
    MPI_Alltoallw(out, counts, displacements, types, in, counts, displacements, types, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        displacements[i] = 3 * i;
    MPI_Alltoallv(out, counts, displacements, MPI_INT, in, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    MPI_Gatherv(out, 2, MPI_INT, in, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(out, counts, displacements, MPI_INT, in, 2, MPI_INT, 0, MPI_COMM_WORLD);
    collective("MPI_Alltoallw", 8 * size, 1);
    collective("MPI_Alltoallv", 8 * size, 1);
    collective("MPI_Gatherv", 8, 1);
    collective("MPI_Scatterv", 8, 1);
    for (int peer = 0; peer < size; peer++) {
        if (peer == rank)
            continue;
        sent("MPI_Alltoallw", peer, 1, 8);
        sent("MPI_Alltoallv", peer, 1, 8);
        if (peer == 0)
            sent("MPI_Gatherv", peer, 1, 8);
        if (rank == 0)
            sent("MPI_Scatterv", peer, 1, 8);
    }
}

static void in_place(void) {
    MPI_Allreduce(MPI_IN_PLACE, in, 20, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 21, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 22, MPI_INT, MPI_COMM_WORLD);
    MPI_Scan(MPI_IN_PLACE, in, 23, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Reduce(MPI_IN_PLACE, in, 24, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else
        MPI_Reduce(out, NULL, 24, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    collective("MPI_Allreduce", 80, 1);
    collective("MPI_Allgather", 84, 1);
    collective("MPI_Alltoall", 88, 1);
    collective("MPI_Scan", 92, 1);
    collective("MPI_Reduce", 96, 1);
}

static void nonblocking(void) {
    MPI_Request requests[4];
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(in, 30, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(out, in + 100, 31, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Iallgather(out, 32, MPI_INT, in + 1000, 32, MPI_INT, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Ireduce(out, in, 33, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    collective("MPI_Ibarrier", 0, 1);
    collective("MPI_Ibcast", 120, 1);
    collective("MPI_Iallreduce", 124, 1);
    collective("MPI_Iallgather", 128, 1);
    collective("MPI_Ireduce", 132, 1);
}

#ifdef HAVE_MPI_Allreduce_init
/* Entered whenever they are started. */
static void persistent(void) {
    MPI_Request requests[2];
    MPI_Allreduce_init(out, in, 40, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(in + 100, 41, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int lap = 0; lap < 5; lap++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    collective("MPI_Allreduce_init", 160, 5);
    collective("MPI_Bcast_init", 164, 5);
}
#endif

#ifdef HAVE_MPI_Send_c
static void large_counts(void) {
    MPI_Count counts[64];
    MPI_Aint displacements[64];
    for (int i = 0; i < size; i++) {
        counts[i] = 2;
        displacements[i] = 3 * i;
    }
    MPI_Allreduce_c(out, in, 50, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast_c(in, 51, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoallv_c(out, counts, displacements, MPI_INT, in, counts, displacements, MPI_INT, MPI_COMM_WORLD);
    collective("MPI_Allreduce_c", 200, 1);
    collective("MPI_Bcast_c", 204, 1);
    collective("MPI_Alltoallv_c", 8 * size, 1);
    for (int peer = 0; peer < size; peer++)
        if (peer != rank)
            sent("MPI_Alltoallv_c", peer, 1, 8);
}
#endif

/* Even ranks and odd ones: the first even rank sends to all odd ones. */
static void between_groups(void) {
    MPI_Comm half, inter;
    const int odd = rank % 2;
    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 1, &inter);
    MPI_Bcast(in, 60, MPI_INT, odd ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Allreduce(out, in, 61, MPI_INT, MPI_SUM, inter);
    MPI_Barrier(inter);
    collective("MPI_Bcast", odd || rank == 0 ? 240 : 0, 1);
    collective("MPI_Allreduce", 244, 1);
    collective("MPI_Barrier", 0, 1);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    MPI_Comm reversed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    blocking(MPI_COMM_WORLD, 0);
    blocking(MPI_COMM_SELF, 0);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    blocking(reversed, size - 1);
    MPI_Comm_free(&reversed);
    to_each();
    in_place();
    nonblocking();
#ifdef HAVE_MPI_Allreduce_init
    persistent();
#endif
#ifdef HAVE_MPI_Send_c
    large_counts();
#endif
    between_groups();
    expect_close();
    MPI_Finalize();
    return 0;
}
