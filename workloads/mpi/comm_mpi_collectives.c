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

static struct group *group_of(struct comm_mpi *mpi, int number) {
    assert(number < mpi->group_count);
    return &mpi->groups[number];
}

void comm_mpi_barrier(struct comm *c, int group) {
    MPI_Barrier(group_of((struct comm_mpi *)c, group)->communicator);
}

void comm_mpi_bcast(struct comm *c, int number, enum comm_type type, int64_t count, int root) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    struct group *group = group_of(mpi, number);
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    uint64_t key = pattern_key((uint64_t)root, 0, (uint64_t)number, group->calls++);
    void *buffer = comm_mpi_room(mpi, group->rank == root ? &mpi->out : &mpi->in, bytes);
    if (group->rank == root)
        pattern_fill(buffer, bytes, key, mpi->check);
    else
        memset(buffer, 0, bytes);
    MPI_Bcast(buffer, comm_mpi_count(mpi, count), comm_mpi_type(type), root, group->communicator);
    if (!pattern_matches(buffer, bytes, key, mpi->check))
        comm_mpi_wrong(mpi, "a broadcast of %zu bytes from rank %d holds other data than was sent", bytes,
                       root);
}

/* What rank `rank` of a group puts into a reduction: small, positive, and different for each call. */
static double part(const struct group *group, int rank) {
    return rank + 1 + (double)(group->calls % 97);
}

static double spoilt(enum comm_type type, enum comm_operation operation) {
    if (type == COMM_INT)
        return operation == COMM_MIN ? INT_MIN : INT_MAX;
    return operation == COMM_MIN ? -HUGE_VAL : HUGE_VAL;
}

static double result(const struct group *group, enum comm_operation operation) {
    double first = part(group, 0), last = part(group, group->size - 1);
    return operation == COMM_MAX ? last : operation == COMM_MIN ? first : group->size * (first + last) / 2;
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
static void combine(struct comm *c, int number, enum comm_type type, int64_t count,
                    enum comm_operation operation, int root) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    struct group *group = group_of(mpi, number);
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    void *mine = comm_mpi_room(mpi, &mpi->out, bytes), *all = comm_mpi_room(mpi, &mpi->in, bytes);
    for (int64_t i = 0; i < count; i++) {
        put(mine, type, i, mpi->errors ? spoilt(type, operation) : part(group, group->rank));
        put(all, type, i, -1);
    }
    if (root < 0)
        MPI_Allreduce(mine, all, comm_mpi_count(mpi, count), comm_mpi_type(type), operator_of(operation),
                      group->communicator);
    else
        MPI_Reduce(mine, all, comm_mpi_count(mpi, count), comm_mpi_type(type), operator_of(operation), root,
                   group->communicator);
    double expected = result(group, operation);
    for (int64_t i = 0; (root < 0 || group->rank == root) && i < count; i++)
        if (!holds(all, type, i, expected)) {
            comm_mpi_wrong(
                mpi, "a reduction of %zu bytes gave another result than its parts, or a rank met wrong data",
                bytes);
            break;
        }
    group->calls++;
}

void comm_mpi_reduce(struct comm *c, int group, enum comm_type type, int64_t count,
                     enum comm_operation operation, int root) {
    combine(c, group, type, count, operation, root);
}

void comm_mpi_allreduce(struct comm *c, int group, enum comm_type type, int64_t count,
                        enum comm_operation operation) {
    combine(c, group, type, count, operation, -1);
}

void comm_mpi_reduce_time(struct comm *c, int root) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    double mine = mpi->errors ? HUGE_VAL : mpi->elapsed_s;
    if (root == COMM_EVERYWHERE)
        MPI_Allreduce(&mine, &mpi->slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    else
        MPI_Reduce(&mine, &mpi->slowest_s, 1, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
    if ((root == COMM_EVERYWHERE || c->rank == root) && mpi->slowest_s == HUGE_VAL) {
        comm_mpi_wrong(mpi, "a rank met wrong data");
        mpi->slowest_s = mpi->elapsed_s;
    }
}

static int enter(struct comm_mpi *mpi, MPI_Comm communicator) {
    int number = mpi->group_count++;
    assert(number < COMM_MPI_GROUPS);
    struct group *group = &mpi->groups[number];
    group->communicator = communicator;
    MPI_Comm_rank(communicator, &group->rank);
    MPI_Comm_size(communicator, &group->size);
    return number;
}

int comm_mpi_split(struct comm *c, int color, int key) {
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &made);
    return enter((struct comm_mpi *)c, made);
}

int comm_mpi_dup(struct comm *c, int number) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    MPI_Comm made;
    MPI_Comm_dup(group_of(mpi, number)->communicator, &made);
    return enter(mpi, made);
}
