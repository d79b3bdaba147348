/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective calls of the MPI back end in which every rank has something of its own for all others. */
#include <assert.h>

#include "comm_mpi_collectives.h"
#include "comm_mpi_support.h"

/* One such call: which group, and the number that tells its data from those of other calls. */
struct exchange {
    struct comm_mpi *mpi;
    const struct group *group;
    uint64_t number, call;
};

static struct exchange begin(struct comm *c, int number) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    assert(number < mpi->group_count);
    struct group *group = &mpi->groups[number];
    return (struct exchange){mpi, group, (uint64_t)number, group->calls++};
}

static uint64_t key_of(const struct exchange *exchange, int from, int to) {
    return pattern_key((uint64_t)from, (uint64_t)to, exchange->number, exchange->call);
}

static void check_block(const struct exchange *exchange, const char *what, const void *block, size_t bytes,
                        int from, int to) {
    if (!pattern_matches(block, bytes, key_of(exchange, from, to), exchange->mpi->check))
        comm_mpi_wrong(
            exchange->mpi,
            "a block of %zu bytes of an %s, from rank %d of its group, holds other data than was sent", bytes,
            what, from);
}

void comm_mpi_allgather(struct comm *c, int group, enum comm_type type, int64_t count) {
    struct exchange exchange = begin(c, group);
    struct comm_mpi *mpi = exchange.mpi;
    size_t block = (size_t)count * (size_t)comm_bytes(type);
    void *out = comm_mpi_room(mpi, &mpi->out, block);
    unsigned char *in = comm_mpi_room(mpi, &mpi->in, block * (size_t)exchange.group->size);
    pattern_fill(out, block, key_of(&exchange, exchange.group->rank, 0), mpi->check);
    MPI_Allgather(out, comm_mpi_count(mpi, count), comm_mpi_type(type), in, comm_mpi_count(mpi, count),
                  comm_mpi_type(type), exchange.group->communicator);
    for (int i = 0; i < exchange.group->size; i++)
        check_block(&exchange, "allgather", in + (size_t)i * block, block, i, 0);
}

void comm_mpi_alltoall(struct comm *c, int group, enum comm_type type, int64_t count) {
    struct exchange exchange = begin(c, group);
    struct comm_mpi *mpi = exchange.mpi;
    int rank = exchange.group->rank, size = exchange.group->size;
    size_t block = (size_t)count * (size_t)comm_bytes(type);
    unsigned char *out = comm_mpi_room(mpi, &mpi->out, block * (size_t)size);
    unsigned char *in = comm_mpi_room(mpi, &mpi->in, block * (size_t)size);
    for (int i = 0; i < size; i++)
        pattern_fill(out + (size_t)i * block, block, key_of(&exchange, rank, i), mpi->check);
    MPI_Alltoall(out, comm_mpi_count(mpi, count), comm_mpi_type(type), in, comm_mpi_count(mpi, count),
                 comm_mpi_type(type), exchange.group->communicator);
    for (int i = 0; i < size; i++)
        check_block(&exchange, "all-to-all", in + (size_t)i * block, block, i, rank);
}

/* Counts as MPI takes them, and where each block begins. @return elements of all blocks */
static int64_t lay_out(struct comm_mpi *mpi, int members, const int64_t *counts, int *of_mpi, int *at) {
    int64_t sum = 0;
    for (int i = 0; i < members; i++) {
        of_mpi[i] = comm_mpi_count(mpi, counts[i]);
        at[i] = comm_mpi_count(mpi, sum);
        sum += counts[i];
    }
    return sum;
}

void comm_mpi_alltoallv(struct comm *c, int group, int members, enum comm_type type, const int64_t *to,
                        const int64_t *from) {
    struct exchange exchange = begin(c, group);
    struct comm_mpi *mpi = exchange.mpi;
    assert(members == exchange.group->size);
    int rank = exchange.group->rank;
    size_t each = (size_t)comm_bytes(type);
    int *sent = comm_mpi_room(mpi, &mpi->working, 4 * (size_t)members * sizeof *sent);
    int *sent_at = sent + members, *received = sent_at + members, *received_at = received + members;
    size_t out_bytes = (size_t)lay_out(mpi, members, to, sent, sent_at) * each;
    size_t in_bytes = (size_t)lay_out(mpi, members, from, received, received_at) * each;
    unsigned char *out = comm_mpi_room(mpi, &mpi->out, out_bytes + 1);
    unsigned char *in = comm_mpi_room(mpi, &mpi->in, in_bytes + 1);
    for (int i = 0; i < members; i++)
        pattern_fill(out + (size_t)sent_at[i] * each, (size_t)to[i] * each, key_of(&exchange, rank, i),
                     mpi->check);
    MPI_Alltoallv(out, sent, sent_at, comm_mpi_type(type), in, received, received_at, comm_mpi_type(type),
                  exchange.group->communicator);
    for (int i = 0; i < members; i++)
        check_block(&exchange, "all-to-all", in + (size_t)received_at[i] * each, (size_t)from[i] * each, i,
                    rank);
}
