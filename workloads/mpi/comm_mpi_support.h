/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the MPI back end share. */
#ifndef RANKWISE_WORKLOADS_COMM_MPI_SUPPORT_H
#define RANKWISE_WORKLOADS_COMM_MPI_SUPPORT_H

#include <mpi.h>

#include "comm.h"
#include "pattern.h"

enum { COMM_MPI_GROUPS = 8 };

struct buffer {
    void *bytes;
    size_t capacity;
};

/* A send or receive that was begun. */
struct begun {
    MPI_Request request; /* MPI_REQUEST_NULL: the slot is free */
    struct buffer buffer;
    int is_receive;
    int source, tag; /* of a receive, as all below */
    size_t bytes;    /* that must arrive */
    uint64_t key;
};

/* A message that is looked for now and then. */
struct relay {
    int is_open;
    int source, destination, tag;
    enum comm_type type;
    int64_t count;
};

/* How many messages went to, or came from, one rank with one tag. */
struct channel {
    int peer, tag;
    uint64_t messages;
};

struct channels {
    struct channel *entries;
    size_t used, allocated;
};

struct group {
    MPI_Comm communicator;
    int rank, size;
    uint64_t calls; /* of collectives, the same on all of its ranks */
};

struct comm_mpi {
    struct comm comm; /* first: the workload holds a pointer to it */
    enum pattern_extent check;
    double factor; /* floating-point operations done for each one of the original */
    struct group groups[COMM_MPI_GROUPS];
    int group_count;
    MPI_Comm messages_on;
    struct begun *requests;
    int request_count;
    struct buffer out, in, working;
    struct relay relay;
    int parts;         /* of a divided computation, 0 where none is being written down */
    double operations; /* of it up to now */
    struct channels sent, received;
    uint64_t errors; /* receives and results that were not as they should be */
    char first_error[160];
    double timer_started, elapsed_s, compute_s;
    double slowest_s; /* at the root of reduce_time, else elapsed_s */
};

/* @brief End the job with one sentence: "error: SENTENCE `VALUE` UNIT on rank R". */
_Noreturn void comm_mpi_end_job(struct comm_mpi *, const char *sentence, double value, const char *unit);

/* @return buffer->bytes with room for `bytes`; ends the job with one sentence if there is no memory */
void *comm_mpi_room(struct comm_mpi *, struct buffer *buffer, size_t bytes);

/* @return the count as MPI's int; ends the job with one sentence if it is larger */
int comm_mpi_count(struct comm_mpi *, int64_t count);

MPI_Datatype comm_mpi_type(enum comm_type type);

/* @brief Note an error; the first one is kept for the message. */
void comm_mpi_wrong(struct comm_mpi *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
