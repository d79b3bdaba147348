/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: irregular_collectives CHAPTER DIRECTORY: collectives with blocks of unequal lengths, some of them
 * empty
 * (`vectors`), in place (`in_place`), of operators that do not commute (`operators`), of types with gaps
 * (`types`), among neighbours (`neighbours`); what Open MPI sends below each goes to DIRECTORY (counted.h).
 */
#include <stdlib.h>

#include "counted.h"

enum { SCALES = 5, MOST = 64 };
static const int scales[SCALES] = {1, 30, 600, 5000, 40000}; /* ints */
static int rank, size;
static int *out, *in;

/* How much `from` has for `to`: some nothing, some three times as much as others. */
static int share(int from, int to, int scale) {
    return scale * ((from + 2 * to) % 4);
}

static void vectors(void) {
    int send[MOST], receive[MOST], to[MOST], from[MOST], send_bytes[MOST], receive_bytes[MOST];
    MPI_Datatype types[MOST];
    for (int at = 0; at < SCALES; at++) {
        int sent = 0, received = 0;
        for (int peer = 0; peer < size; peer++) {
            send[peer] = share(rank, peer, scales[at]);
            receive[peer] = share(peer, rank, scales[at]);
            to[peer] = sent;
            from[peer] = received;
            send_bytes[peer] = 4 * sent;
            receive_bytes[peer] = 4 * received;
            types[peer] = MPI_INT;
            sent += send[peer];
            received += receive[peer];
        }
        COUNTED(Alltoallv, out, send, to, MPI_INT, in, receive, from, MPI_INT, MPI_COMM_WORLD);
        COUNTED_I(Ialltoallv, out, send, to, MPI_INT, in, receive, from, MPI_INT, MPI_COMM_WORLD);
        COUNTED(Alltoallw, out, send, send_bytes, types, in, receive, receive_bytes, types, MPI_COMM_WORLD);
        COUNTED_I(Ialltoallw, out, send, send_bytes, types, in, receive, receive_bytes, types,
                  MPI_COMM_WORLD);
        for (int root = 0; root < size; root += size - 1) {
            const int mine = share(rank, root, scales[at]), given = share(root, rank, scales[at]);
            COUNTED(Gatherv, out, mine, MPI_INT, in, receive, from, MPI_INT, root, MPI_COMM_WORLD);
            COUNTED_I(Igatherv, out, mine, MPI_INT, in, receive, from, MPI_INT, root, MPI_COMM_WORLD);
            COUNTED(Scatterv, out, send, to, MPI_INT, in, given, MPI_INT, root, MPI_COMM_WORLD);
            COUNTED_I(Iscatterv, out, send, to, MPI_INT, in, given, MPI_INT, root, MPI_COMM_WORLD);
        }
        for (int peer = 0, all = 0; peer < size; peer++) {
            receive[peer] = share(peer, 0, scales[at]);
            from[peer] = all;
            all += receive[peer];
        }
        COUNTED(Allgatherv, out, receive[rank], MPI_INT, in, receive, from, MPI_INT, MPI_COMM_WORLD);
        COUNTED_I(Iallgatherv, out, receive[rank], MPI_INT, in, receive, from, MPI_INT, MPI_COMM_WORLD);
        COUNTED(Reduce_scatter, out, in, receive, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED_I(Ireduce_scatter, out, in, receive, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void in_place(void) {
    const int root = size - 1;
    for (int at = 0; at < SCALES; at++) {
        const int n = scales[at];
        int counts[MOST], places[MOST], bytes[MOST];
        MPI_Datatype types[MOST];
        for (int peer = 0; peer < size; peer++) {
            counts[peer] = n;
            places[peer] = n * peer;
            bytes[peer] = 4 * n * peer;
            types[peer] = MPI_INT;
        }
        const void *own = rank == root ? MPI_IN_PLACE : out;
        void *back = rank == root ? MPI_IN_PLACE : in;
        COUNTED(Alltoall, MPI_IN_PLACE, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
        COUNTED(Alltoallv, MPI_IN_PLACE, counts, places, MPI_INT, in, counts, places, MPI_INT,
                MPI_COMM_WORLD);
        COUNTED(Alltoallw, MPI_IN_PLACE, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD);
        COUNTED_I(Ialltoall, MPI_IN_PLACE, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
        COUNTED_I(Ialltoallv, MPI_IN_PLACE, counts, places, MPI_INT, in, counts, places, MPI_INT,
                  MPI_COMM_WORLD);
        COUNTED_I(Ialltoallw, MPI_IN_PLACE, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD);
        COUNTED(Allgather, MPI_IN_PLACE, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
        COUNTED(Allgatherv, MPI_IN_PLACE, n, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
        COUNTED(Gather, own, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD);
        COUNTED(Gatherv, own, n, MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD);
        COUNTED(Scatter, out, n, MPI_INT, back, n, MPI_INT, root, MPI_COMM_WORLD);
        COUNTED(Scatterv, out, counts, places, MPI_INT, back, n, MPI_INT, root, MPI_COMM_WORLD);
        COUNTED(Reduce, own, in, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        COUNTED(Allreduce, MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED_I(Iallreduce, MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED_I(Ireduce, own, in, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        COUNTED(Scan, MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED(Exscan, MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED(Reduce_scatter, MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED(Reduce_scatter_block, MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED_I(Ireduce_scatter, MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        COUNTED_I(Ireduce_scatter_block, MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void later_one(void *left, void *right, int *length, MPI_Datatype *type) {
    (void)left, (void)right, (void)length, (void)type;
}

static void reductions(MPI_Datatype type, MPI_Op op, int most) {
    const int root = size - 1;
    for (int at = 0; at < SCALES && scales[at] <= most; at++) {
        const int n = scales[at];
        int counts[MOST];
        for (int peer = 0; peer < size; peer++)
            counts[peer] = n * (peer % 3);
        COUNTED(Reduce, out, in, n, type, op, root, MPI_COMM_WORLD);
        COUNTED(Allreduce, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED(Scan, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED(Exscan, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED(Reduce_scatter, out, in, counts, type, op, MPI_COMM_WORLD);
        COUNTED(Reduce_scatter_block, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED_I(Ireduce, out, in, n, type, op, root, MPI_COMM_WORLD);
        COUNTED_I(Iallreduce, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED_I(Iscan, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED_I(Iexscan, out, in, n, type, op, MPI_COMM_WORLD);
        COUNTED_I(Ireduce_scatter, out, in, counts, type, op, MPI_COMM_WORLD);
        COUNTED_I(Ireduce_scatter_block, out, in, n, type, op, MPI_COMM_WORLD);
    }
}

static void operators(void) {
    MPI_Op op;
    MPI_Op_create(later_one, 0, &op);
    reductions(MPI_INT, op, 40000);
    MPI_Op_free(&op);
}

/* Five of six ints, with an operator that takes them. */
static void types(void) {
    const int root = size - 1, lengths[2] = {2, 3}, places[2] = {0, 3};
    MPI_Datatype gaps, type;
    MPI_Op op;
    MPI_Type_indexed(2, lengths, places, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 6 * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(later_one, 1, &op);
    reductions(type, op, 5000);
    for (int at = 0; scales[at] <= 5000 && at < SCALES; at++) {
        const int n = scales[at];
        COUNTED(Bcast, out, n, type, root, MPI_COMM_WORLD);
        COUNTED(Gather, out, n, type, in, n, type, root, MPI_COMM_WORLD);
        COUNTED(Scatter, out, n, type, in, n, type, root, MPI_COMM_WORLD);
        COUNTED(Allgather, out, n, type, in, n, type, MPI_COMM_WORLD);
        COUNTED(Alltoall, out, n, type, in, n, type, MPI_COMM_WORLD);
        COUNTED_I(Ibcast, out, n, type, root, MPI_COMM_WORLD);
        COUNTED_I(Iallgather, out, n, type, in, n, type, MPI_COMM_WORLD);
        COUNTED_I(Ialltoall, out, n, type, in, n, type, MPI_COMM_WORLD);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&gaps);
}

/* Every neighbour gets (v, w: sender) % 3 times the scale; nobody at the end of a line counts as one who gets
 * something. */
static void exchange(MPI_Comm comm, int ins, const int *from) {
    int send[MOST], receive[MOST], places[MOST];
    MPI_Aint far[MOST];
    MPI_Datatype types[MOST];
    for (int at = 0; at < SCALES; at++) {
        const int n = scales[at];
        for (int i = 0; i < MOST; i++) {
            send[i] = n * (rank % 3);
            places[i] = 2 * n * i;
            far[i] = 8L * n * i;
            types[i] = MPI_INT;
        }
        for (int i = 0; i < ins; i++)
            receive[i] = from[i] < 0 ? 0 : n * (from[i] % 3);
        COUNTED(Neighbor_allgather, out, n, MPI_INT, in, n, MPI_INT, comm);
        COUNTED(Neighbor_allgatherv, out, n * (rank % 3), MPI_INT, in, receive, places, MPI_INT, comm);
        COUNTED(Neighbor_alltoall, out, n, MPI_INT, in, n, MPI_INT, comm);
        COUNTED(Neighbor_alltoallv, out, send, places, MPI_INT, in, receive, places, MPI_INT, comm);
        COUNTED(Neighbor_alltoallw, out, send, far, types, in, receive, far, types, comm);
        COUNTED_I(Ineighbor_allgather, out, n, MPI_INT, in, n, MPI_INT, comm);
        COUNTED_I(Ineighbor_allgatherv, out, n * (rank % 3), MPI_INT, in, receive, places, MPI_INT, comm);
        COUNTED_I(Ineighbor_alltoall, out, n, MPI_INT, in, n, MPI_INT, comm);
        COUNTED_I(Ineighbor_alltoallv, out, send, places, MPI_INT, in, receive, places, MPI_INT, comm);
        COUNTED_I(Ineighbor_alltoallw, out, send, far, types, in, receive, far, types, comm);
    }
}

static void grid(int dimensions, int periodic) {
    int dims[3] = {0}, periods[3] = {periodic, periodic, periodic}, from[6];
    MPI_Comm comm;
    MPI_Dims_create(size, dimensions, dims);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm);
    for (int i = 0; i < dimensions; i++)
        MPI_Cart_shift(comm, i, 1, &from[2 * i], &from[2 * i + 1]);
    exchange(comm, 2 * dimensions, from);
    MPI_Comm_free(&comm);
}

/* Rank r sends to the next r % 4: some have no neighbours, and numbers of them differ. */
static void directed(void) {
    int from[8], to[8], ins = 0, outs = rank % 4 < size ? rank % 4 : 0;
    MPI_Comm comm;
    for (int i = 0; i < outs; i++)
        to[i] = (rank + i + 1) % size;
    for (int away = 1; away < 4; away++) {
        const int source = ((rank - away) % size + size) % size;
        if (source % 4 >= away && source % 4 < size)
            from[ins++] = source;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, from, MPI_UNWEIGHTED, outs, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    exchange(comm, ins, from);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc((size_t)(3 * scales[SCALES - 1]) * (size_t)(size + 4), sizeof(int));
    in = calloc((size_t)(3 * scales[SCALES - 1]) * (size_t)(size + 4), sizeof(int));
    const char *chapter = argc > 2 ? argv[1] : "";
    if (!strcmp(chapter, "vectors"))
        vectors();
    else if (!strcmp(chapter, "in_place"))
        in_place();
    else if (!strcmp(chapter, "operators"))
        operators();
    else if (!strcmp(chapter, "types"))
        types();
    else if (!strcmp(chapter, "neighbours")) {
        grid(1, 0);
        grid(2, 1);
        grid(3, 0);
        directed();
    } else
        MPI_Abort(MPI_COMM_WORLD, 2);
    counted_write(argv[2], rank);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
