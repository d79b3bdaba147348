/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls of the MPI back end. */
#include "comm_mpi_messages.h"

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

/* @return the key of the next message to `destination` with that tag */
static uint64_t sent_key(struct comm_mpi *mpi, int destination, int tag) {
    uint64_t sequence = count_message(mpi, &mpi->sent, destination, tag);
    return pattern_key((uint64_t)mpi->comm.rank, (uint64_t)destination, (uint64_t)tag, sequence);
}

/* @return the number of a free request */
static int free_request(struct comm_mpi *mpi) {
    for (int i = 0; i < mpi->request_count; i++)
        if (mpi->requests[i].request == MPI_REQUEST_NULL)
            return i;
    int more = mpi->request_count ? 2 * mpi->request_count : 8;
    struct begun *grown = realloc(mpi->requests, (size_t)more * sizeof *grown);
    if (grown == NULL)
        comm_mpi_end_job(mpi, "there is no memory for", (double)more, "requests");
    for (int i = mpi->request_count; i < more; i++)
        grown[i] = (struct begun){.request = MPI_REQUEST_NULL};
    mpi->requests = grown;
    int first = mpi->request_count;
    mpi->request_count = more;
    return first;
}

/* What a receive is to bring, and the buffer for it. */
static void expect(struct comm_mpi *mpi, struct begun *receive, int source, int tag, enum comm_type type,
                   int64_t capacity, int64_t count) {
    uint64_t sequence = count_message(mpi, &mpi->received, source, tag);
    receive->is_receive = 1;
    receive->source = source;
    receive->tag = tag;
    receive->bytes = (size_t)count * (size_t)comm_bytes(type);
    receive->key = pattern_key((uint64_t)source, (uint64_t)mpi->comm.rank, (uint64_t)tag, sequence);
    comm_mpi_room(mpi, &receive->buffer, (size_t)capacity * (size_t)comm_bytes(type));
}

static void check(struct comm_mpi *mpi, const struct begun *receive, const MPI_Status *status) {
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    if (status->MPI_SOURCE != receive->source || status->MPI_TAG != receive->tag ||
        (size_t)bytes != receive->bytes)
        comm_mpi_wrong(mpi, "%d bytes came from rank %d with tag %d instead of %zu from rank %d with tag %d",
                       bytes, status->MPI_SOURCE, status->MPI_TAG, receive->bytes, receive->source,
                       receive->tag);
    else if (!pattern_matches(receive->buffer.bytes, receive->bytes, receive->key, mpi->check))
        comm_mpi_wrong(mpi, "a message of %zu bytes from rank %d with tag %d holds other data than was sent",
                       receive->bytes, receive->source, receive->tag);
}

void comm_mpi_send(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    void *buffer = comm_mpi_room(mpi, &mpi->out, bytes);
    pattern_fill(buffer, bytes, sent_key(mpi, destination, tag), mpi->check);
    MPI_Send(buffer, comm_mpi_count(mpi, count), comm_mpi_type(type), destination, tag, mpi->messages_on);
}

void comm_mpi_ssend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    void *buffer = comm_mpi_room(mpi, &mpi->out, bytes);
    pattern_fill(buffer, bytes, sent_key(mpi, destination, tag), mpi->check);
    MPI_Ssend(buffer, comm_mpi_count(mpi, count), comm_mpi_type(type), destination, tag, mpi->messages_on);
}

/* @return the number of a send that is to begin, with its message */
static int fill_send(struct comm_mpi *mpi, int destination, int tag, enum comm_type type, int64_t count) {
    size_t bytes = (size_t)count * (size_t)comm_bytes(type);
    int number = free_request(mpi);
    struct begun *send = &mpi->requests[number];
    send->is_receive = 0;
    void *buffer = comm_mpi_room(mpi, &send->buffer, bytes);
    pattern_fill(buffer, bytes, sent_key(mpi, destination, tag), mpi->check);
    return number;
}

int comm_mpi_isend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int number = fill_send(mpi, destination, tag, type, count);
    struct begun *send = &mpi->requests[number];
    MPI_Isend(send->buffer.bytes, comm_mpi_count(mpi, count), comm_mpi_type(type), destination, tag,
              mpi->messages_on, &send->request);
    return number;
}

int comm_mpi_issend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int number = fill_send(mpi, destination, tag, type, count);
    struct begun *send = &mpi->requests[number];
    MPI_Issend(send->buffer.bytes, comm_mpi_count(mpi, count), comm_mpi_type(type), destination, tag,
               mpi->messages_on, &send->request);
    return number;
}

void comm_mpi_recv(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                   int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int number = free_request(mpi);
    struct begun *receive = &mpi->requests[number];
    MPI_Status status;
    expect(mpi, receive, source, tag, type, capacity, count);
    MPI_Recv(receive->buffer.bytes, comm_mpi_count(mpi, capacity), comm_mpi_type(type), source, tag,
             mpi->messages_on, &status);
    check(mpi, receive, &status);
}

int comm_mpi_irecv(struct comm *c, int source, int from_any, int tag, enum comm_type type, int64_t capacity,
                   int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int number = free_request(mpi);
    struct begun *receive = &mpi->requests[number];
    expect(mpi, receive, source, tag, type, capacity, count);
    MPI_Irecv(receive->buffer.bytes, comm_mpi_count(mpi, capacity), comm_mpi_type(type),
              from_any ? MPI_ANY_SOURCE : source, tag, mpi->messages_on, &receive->request);
    return number;
}

void comm_mpi_wait(struct comm *c, int request) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    struct begun *begun = &mpi->requests[request];
    MPI_Status status;
    MPI_Wait(&begun->request, &status);
    if (begun->is_receive)
        check(mpi, begun, &status);
}

void comm_mpi_waitall(struct comm *c, const int *requests, int count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    size_t bytes = (size_t)count * (sizeof(MPI_Status) + sizeof(MPI_Request));
    MPI_Status *statuses = comm_mpi_room(mpi, &mpi->working, bytes);
    MPI_Request *together = (MPI_Request *)(statuses + count);
    for (int i = 0; i < count; i++)
        together[i] = mpi->requests[requests[i]].request;
    MPI_Waitall(count, together, statuses);
    for (int i = 0; i < count; i++) {
        struct begun *begun = &mpi->requests[requests[i]];
        begun->request = MPI_REQUEST_NULL;
        if (begun->is_receive)
            check(mpi, begun, &statuses[i]);
    }
}

void comm_mpi_relay(struct comm *c, int source, int destination, int tag, enum comm_type type,
                    int64_t count) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    mpi->relay = (struct relay){1, source, destination, tag, type, count};
}

void comm_mpi_poll(struct comm *c) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    int is_there;
    if (!mpi->relay.is_open)
        return;
    MPI_Iprobe(mpi->relay.source, mpi->relay.tag, mpi->messages_on, &is_there, MPI_STATUS_IGNORE);
    if (!is_there)
        return;
    struct relay relay = mpi->relay;
    mpi->relay.is_open = 0;
    comm_mpi_recv(c, relay.source, relay.tag, relay.type, relay.count, relay.count);
    if (relay.destination >= 0)
        comm_mpi_send(c, relay.destination, relay.tag, relay.type, relay.count);
}

void comm_mpi_finish_relay(struct comm *c) {
    while (((struct comm_mpi *)c)->relay.is_open)
        comm_mpi_poll(c);
}
