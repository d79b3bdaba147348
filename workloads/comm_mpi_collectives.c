/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls of the MPI back end. Reductions combine small whole numbers, so that results are exact in
 * any order. A rank that met wrong data spoils its part of every later reduction: rank 0 learns of it without
 * further messages.
 */
#include "comm_mpi_collectives.h"

#include <assert.h>
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "comm_mpi_support.h"

void comm_mpi_barrier(struct comm *c) {
    (void)c;
    MPI_Barrier(MPI_COMM_WORLD);
}

void comm_mpi_bcast(struct comm *c, enum comm_type type, int64_t count, int root) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    uint64_t key = pattern_key((uint64_t)root, 0, COMM_WORLD, mpi->collectives++);
    void *buffer = comm_mpi_room(mpi, c->rank == root ? &mpi->out : &mpi->in, bytes);
    if (c->rank == root)
        pattern_fill(buffer, bytes, key, mpi->check);
    else
        memset(buffer, 0, bytes);
    MPI_Bcast(buffer, comm_mpi_count(mpi, count), comm_mpi_type(type), root, MPI_COMM_WORLD);
    if (!pattern_matches(buffer, bytes, key, mpi->check))
        comm_mpi_wrong(mpi, "a broadcast of %zu bytes from rank %d holds other data than was sent", bytes,
                       root);
}

/* What rank `rank` puts into a reduction: small, positive, and different for each call. */
static double part(const struct comm_mpi *mpi, int rank) {
    return rank + 1 + (double)(mpi->collectives % 97);
}

static double spoilt(enum comm_type type, enum comm_operation operation) {
    if (type == COMM_INT)
        return operation == COMM_MIN ? INT_MIN : INT_MAX;
    return operation == COMM_MIN ? -HUGE_VAL : HUGE_VAL;
}

static double result(const struct comm_mpi *mpi, enum comm_operation operation) {
    double first = part(mpi, 0), last = part(mpi, mpi->comm.size - 1);
    return operation == COMM_MAX ? last : operation == COMM_MIN ? first : mpi->comm.size * (first + last) / 2;
}

static void put(void *buffer, enum comm_type type, int64_t index, double value) {
    if (type == COMM_INT)
        ((int *)buffer)[index] = (int)value;
    else if (type == COMM_DOUBLE)
        ((double *)buffer)[index] = value;
    else
        ((double complex *)buffer)[index] = value; /* the imaginary part stays 0 */
}

static int holds(const void *buffer, enum comm_type type, int64_t index, double value) {
    if (type == COMM_INT)
        return ((const int *)buffer)[index] == (int)value;
    if (type == COMM_DOUBLE)
        return ((const double *)buffer)[index] == value;
    return ((const double complex *)buffer)[index] == value;
}

static MPI_Op operator_of(enum comm_operation operation) {
    return operation == COMM_MAX ? MPI_MAX : operation == COMM_MIN ? MPI_MIN : MPI_SUM;
}

/* Both reductions; root is -1 where all ranks get the result. */
static void combine(struct comm *c, enum comm_type type, int64_t count, enum comm_operation operation,
                    int root) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    void *mine = comm_mpi_room(mpi, &mpi->out, bytes), *all = comm_mpi_room(mpi, &mpi->in, bytes);
    for (int64_t i = 0; i < count; i++) {
        put(mine, type, i, mpi->errors ? spoilt(type, operation) : part(mpi, c->rank));
        put(all, type, i, -1);
    }
    if (root < 0)
        MPI_Allreduce(mine, all, comm_mpi_count(mpi, count), comm_mpi_type(type), operator_of(operation),
                      MPI_COMM_WORLD);
    else
        MPI_Reduce(mine, all, comm_mpi_count(mpi, count), comm_mpi_type(type), operator_of(operation), root,
                   MPI_COMM_WORLD);
    double expected = result(mpi, operation);
    for (int64_t i = 0; (root < 0 || c->rank == root) && i < count; i++)
        if (!holds(all, type, i, expected)) {
            comm_mpi_wrong(
                mpi, "a reduction of %zu bytes gave another result than its parts, or a rank met wrong data",
                bytes);
            break;
        }
    mpi->collectives++;
}

void comm_mpi_reduce(struct comm *c, enum comm_type type, int64_t count, enum comm_operation operation,
                     int root) {
    combine(c, type, count, operation, root);
}

void comm_mpi_allreduce(struct comm *c, enum comm_type type, int64_t count, enum comm_operation operation) {
    combine(c, type, count, operation, -1);
}

void comm_mpi_reduce_time(struct comm *c, int root) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    double mine = mpi->errors ? HUGE_VAL : mpi->elapsed_s;
    MPI_Reduce(&mine, &mpi->slowest_s, 1, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
    if (c->rank == root && mpi->slowest_s == HUGE_VAL) {
        comm_mpi_wrong(mpi, "a rank met wrong data");
        mpi->slowest_s = mpi->elapsed_s;
    }
}

void comm_mpi_alltoall(struct comm *c, int group, enum comm_type type, int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int rank, size;
    MPI_Comm_rank(mpi->groups[group], &rank);
    MPI_Comm_size(mpi->groups[group], &size);
    size_t block = (size_t)count * (size_t)comm_bytes(type);
    unsigned char *out = comm_mpi_room(mpi, &mpi->out, block * (size_t)size);
    unsigned char *in = comm_mpi_room(mpi, &mpi->in, block * (size_t)size);
    uint64_t channel = (uint64_t)group, sequence = mpi->collectives++;
    for (int i = 0; i < size; i++)
        pattern_fill(out + (size_t)i * block, block,
                     pattern_key((uint64_t)rank, (uint64_t)i, channel, sequence), mpi->check);
    MPI_Alltoall(out, comm_mpi_count(mpi, count), comm_mpi_type(type), in, comm_mpi_count(mpi, count),
                 comm_mpi_type(type), mpi->groups[group]);
    for (int i = 0; i < size; i++)
        if (!pattern_matches(in + (size_t)i * block, block,
                             pattern_key((uint64_t)i, (uint64_t)rank, channel, sequence), mpi->check))
            comm_mpi_wrong(
                mpi,
                "a block of %zu bytes of an all-to-all, from rank %d of its group, holds other data "
                "than was sent",
                block, i);
}

int comm_mpi_split(struct comm *c, int color, int key) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int group = mpi->group_count++;
    assert(group < COMM_MPI_GROUPS);
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &mpi->groups[group]);
    return group;
}
