/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chapter 8 of MPI: neighbourhood collectives on a line (with nobody at its ends), on a ring, on a directed
 * graph of which each rank knows its own edges only, and on the old kind of graph; blocking, nonblocking and
 * persistent.
 */
#include <mpi.h>

#include "../expect.h"

static int rank, size;
static int out[256], in[256];

/* Three calls: 8 bytes to each neighbour; 4 bytes to the first and 8 to the second of up to two. */
static void exchange(MPI_Comm comm, int in_degree, int out_degree, const int *to, const int *from_position) {
    int counts[16], displacements[16], receive[16];
    MPI_Request request;
    for (int i = 0; i < 16; i++)
        displacements[i] = 8 * i;
    MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < out_degree; i++)
        counts[i] = i + 1;
    for (int i = 0; i < in_degree; i++)
        receive[i] = from_position[i] + 1;
    MPI_Neighbor_alltoallv(out, counts, displacements, MPI_INT, in, receive, displacements, MPI_INT, comm);
#ifdef HAVE_MPI_Neighbor_allgather_init
    MPI_Neighbor_allgather_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
    for (int lap = 0; lap < 2; lap++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    collective("MPI_Neighbor_allgather_init", 4, 2);
#endif
    collective("MPI_Neighbor_allgather", 8, 1);
    collective("MPI_Ineighbor_alltoall", 8, 1);
    collective("MPI_Neighbor_alltoallv", 4 * out_degree * (out_degree + 1) / 2, 1);
    for (int i = 0; i < out_degree; i++) {
        if (to[i] < 0)
            continue;
        sent("MPI_Neighbor_allgather", to[i], 1, 8);
        sent("MPI_Ineighbor_alltoall", to[i], 1, 8);
        sent("MPI_Neighbor_alltoallv", to[i], 1, 4 * (i + 1));
#ifdef HAVE_MPI_Neighbor_allgather_init
        sent("MPI_Neighbor_allgather_init", to[i], 2, 8);
#endif
    }
}

static void line(int periodic) {
    const int dims[1] = {size}, periods[1] = {periodic};
    const int left = rank > 0 ? rank - 1 : periodic ? size - 1 : -1;
    const int right = rank + 1 < size ? rank + 1 : periodic ? 0 : -1;
    const int to[2] = {left, right}, positions[2] = {1, 0}; /* what my left sends to its right */
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    exchange(comm, 2, 2, to, positions);
    MPI_Comm_free(&comm);
}

/* Edges r -> r + 1 and r -> r + 2. */
static void directed(void) {
    const int to[2] = {(rank + 1) % size, (rank + 2) % size};
    const int from[2] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size}, positions[2] = {0, 1};
    MPI_Comm comm;
    if (size < 3) /* both edges would be one, twice: which of them is which, libraries see differently */
        return;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    exchange(comm, 2, 2, to, positions);
    MPI_Comm_free(&comm);
}

/* A star: 0 with everybody else, in rank order. */
static void star(void) {
    int index[64], edges[128], to[1] = {0};
    MPI_Comm comm;
    if (size < 2)
        return;
    for (int r = 0; r < size; r++)
        index[r] = size - 1 + r;
    for (int r = 1; r < size; r++) {
        edges[r - 1] = r;
        edges[size - 2 + r] = 0;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, comm);
    MPI_Comm_free(&comm);
    collective("MPI_Neighbor_allgather", 12, 1);
    for (int r = 1; r < size && rank == 0; r++)
        sent("MPI_Neighbor_allgather", r, 1, 12);
    if (rank > 0)
        sent("MPI_Neighbor_allgather", to[0], 1, 12);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    line(0);
    line(1);
    directed();
    star();
    expect_close();
    MPI_Finalize();
    return 0;
}
