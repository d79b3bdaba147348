/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls of the MPI back end. */
#include "comm_mpi_messages.h"

#include <assert.h>
#include <stdlib.h>

#include "comm_mpi_support.h"

/* Messages of one sender, receiver and tag arrive in order, so both sides count them alike. */
static uint64_t count_message(struct comm_mpi *mpi, struct channels *channels, int peer, int tag) {
    for (size_t i = 0; i < channels->used; i++)
        if (channels->entries[i].peer == peer && channels->entries[i].tag == tag)
            return channels->entries[i].messages++;
    if (channels->used == channels->allocated) {
        size_t more = channels->allocated ? 2 * channels->allocated : 16;
        struct channel *grown = realloc(channels->entries, more * sizeof *grown);
        if (grown == NULL)
            comm_mpi_end_job(mpi, "there is no memory to count messages with", (double)more, "peers");
        channels->entries = grown;
        channels->allocated = more;
    }
    channels->entries[channels->used++] = (struct channel){peer, tag, 1};
    return 0;
}

void comm_mpi_send(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    uint64_t sequence = count_message(mpi, &mpi->sent, destination, tag);
    void *buffer = comm_mpi_room(mpi, &mpi->out, bytes);
    pattern_fill(buffer, bytes,
                 pattern_key((uint64_t)c->rank, (uint64_t)destination, (uint64_t)tag, sequence), mpi->check);
    MPI_Send(buffer, comm_mpi_count(mpi, count), comm_mpi_type(type), destination, tag, MPI_COMM_WORLD);
}

int comm_mpi_irecv(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                   int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int slot = 0;
    while (slot < COMM_MPI_REQUESTS && mpi->posted[slot].request != MPI_REQUEST_NULL)
        slot++; /* the workloads have at most two receives posted */
    assert(slot < COMM_MPI_REQUESTS);
    struct posted *posted = &mpi->posted[slot];
    uint64_t sequence = count_message(mpi, &mpi->received, source, tag);
    posted->source = source;
    posted->tag = tag;
    posted->bytes = (size_t)count * (size_t)comm_bytes(type);
    posted->key = pattern_key((uint64_t)source, (uint64_t)c->rank, (uint64_t)tag, sequence);
    void *buffer = comm_mpi_room(mpi, &posted->buffer, (size_t)capacity * (size_t)comm_bytes(type));
    MPI_Irecv(buffer, comm_mpi_count(mpi, capacity), comm_mpi_type(type), source, tag, MPI_COMM_WORLD,
              &posted->request);
    return slot;
}

void comm_mpi_wait(struct comm *c, int request) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    struct posted *posted = &mpi->posted[request];
    MPI_Status status;
    int bytes;
    MPI_Wait(&posted->request, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (status.MPI_SOURCE != posted->source || status.MPI_TAG != posted->tag ||
        (size_t)bytes != posted->bytes)
        comm_mpi_wrong(mpi, "%d bytes came from rank %d with tag %d instead of %zu from rank %d with tag %d",
                       bytes, status.MPI_SOURCE, status.MPI_TAG, posted->bytes, posted->source, posted->tag);
    else if (!pattern_matches(posted->buffer.bytes, posted->bytes, posted->key, mpi->check))
        comm_mpi_wrong(mpi, "a message of %zu bytes from rank %d with tag %d holds other data than was sent",
                       posted->bytes, posted->source, posted->tag);
}
