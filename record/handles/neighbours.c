/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "handles/communicators.h"

static struct rw_neighbours *make(uint32_t in, uint32_t out) {
    struct rw_neighbours *neighbours = malloc(sizeof *neighbours + ((size_t)in + out) * sizeof(int));
    if (neighbours) {
        neighbours->in = in;
        neighbours->out = out;
    }
    return neighbours;
}

/* MPI 5.0, section 8.6: for each dimension, first the negative, then the positive direction. */
static struct rw_neighbours *cartesian(MPI_Comm comm) {
    int dimensions = 0;
    RW_PMPI_CALL(Cartdim_get, MPI_Comm, int *)(comm, &dimensions);
    struct rw_neighbours *neighbours = make(2 * (uint32_t)dimensions, 2 * (uint32_t)dimensions);
    for (int i = 0; neighbours && i < dimensions; i++) {
        int *in = &neighbours->ranks[2 * i], *out = in + 2 * dimensions;
        RW_PMPI_CALL(Cart_shift, MPI_Comm, int, int, int *, int *)(comm, i, 1, &in[0], &in[1]);
        out[0] = in[0];
        out[1] = in[1];
    }
    return neighbours;
}

static struct rw_neighbours *graph(MPI_Comm comm, int rank) {
    int count = 0;
    RW_PMPI_CALL(Graph_neighbors_count, MPI_Comm, int, int *)(comm, rank, &count);
    struct rw_neighbours *neighbours = make((uint32_t)count, (uint32_t)count);
    if (neighbours && count > 0) {
        RW_PMPI_CALL(Graph_neighbors, MPI_Comm, int, int, int *)(comm, rank, count, neighbours->ranks);
        for (int i = 0; i < count; i++)
            neighbours->ranks[count + i] = neighbours->ranks[i];
    }
    return neighbours;
}

static struct rw_neighbours *distributed_graph(MPI_Comm comm) {
    int in = 0, out = 0, weighted = 0;
    RW_PMPI_CALL(Dist_graph_neighbors_count, MPI_Comm, int *, int *, int *)(comm, &in, &out, &weighted);
    struct rw_neighbours *neighbours = make((uint32_t)in, (uint32_t)out);
    int *weights = malloc(((size_t)in + (size_t)out + 1) * sizeof *weights);
    if (neighbours && weights)
        RW_PMPI_CALL(Dist_graph_neighbors, MPI_Comm, int, int *, int *, int, int *, int *)
    (comm, in, neighbours->ranks, weights, out, neighbours->ranks + in, weights + in);
    else if (neighbours) neighbours->in = neighbours->out = 0;
    free(weights);
    return neighbours;
}

static struct rw_neighbours *ask(const struct rw_communicator *known, MPI_Comm comm) {
    int topology = MPI_UNDEFINED;
    RW_PMPI_CALL(Topo_test, MPI_Comm, int *)(comm, &topology);
    if (topology == MPI_CART)
        return cartesian(comm);
    if (topology == MPI_GRAPH)
        return graph(comm, known->rank);
    return topology == MPI_DIST_GRAPH ? distributed_graph(comm) : NULL;
}

const struct rw_neighbours *rw_neighbours(struct rw_communicator *known, MPI_Comm comm) {
    struct rw_neighbours *neighbours = __atomic_load_n(&known->neighbours, __ATOMIC_ACQUIRE);
    if (neighbours)
        return neighbours;
    /* Of several threads that ask at once the first one's answer is kept. */
    struct rw_neighbours *asked = ask(known, comm);
    if (__atomic_compare_exchange_n(&known->neighbours, &neighbours, asked, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return asked;
    free(asked);
    return neighbours;
}
