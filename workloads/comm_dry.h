/* SPDX-License-Identifier: BSD-3-Clause */
/* The back end without MPI: executes one rank's code at a time and hands each call to a sink. */
#ifndef RANKWISE_WORKLOADS_COMM_DRY_H
#define RANKWISE_WORKLOADS_COMM_DRY_H

#include "workload.h"

enum comm_event_kind {
    COMM_EVENT_SEND,
    COMM_EVENT_ISEND,
    COMM_EVENT_RECV,
    COMM_EVENT_IRECV,
    COMM_EVENT_IRECV_ANY,
    COMM_EVENT_WAIT,
    COMM_EVENT_BARRIER,
    COMM_EVENT_BCAST,
    COMM_EVENT_REDUCE,
    COMM_EVENT_ALLREDUCE,
    COMM_EVENT_ALLGATHER,
    COMM_EVENT_ALLTOALL,
    COMM_EVENT_ALLTOALLV,
    COMM_EVENT_SPLIT,
    COMM_EVENT_COMPUTE,
    COMM_EVENT_KERNEL,
    COMM_EVENT_TIMER,
    COMM_EVENT_SSEND,
    COMM_EVENT_ISSEND,
    COMM_EVENT_RELAY_RECV, /* begins here, beside what follows up to the end of the relay */
    COMM_EVENT_RELAY_SEND, /* after that */
    COMM_EVENT_RELAY_END,
    COMM_EVENT_DIVIDE,
    COMM_EVENT_DUP
};

/* One call of one rank. Fields without a meaning for its kind are 0. */
struct comm_event {
    enum comm_event_kind kind;
    int peer;    /* send, isend: destination; recv, irecv: source; bcast, reduce: root in the group; split:
                    color; dup: 0; kernel: enum comm_kernel */
    int tag;     /* split: key; dup: the rank */
    int group;   /* messages, collectives: group they are in; split, dup: the group it made */
    int request; /* isend, irecv: number of the request, 0, 1, 2, ... on each rank; wait: the one waited for
                  */
    int type_bytes;    /* of one element */
    int64_t count;     /* elements; alltoall: for each rank; alltoallv: sent to all of them; timer: 1 when it
                          starts, 0 when it stops; kernel: how many times; divide: parts, 0 at its end; wait: of
                          an MPI_Waitall, how many of its waits are left with this one, 0 of an MPI_Wait */
    int64_t m, n, k;   /* kernel: its sizes; alltoallv: m is the number of ranks of the group; dup: m is the
                          group that was copied */
    double operations; /* compute, kernel: floating-point operations of the original */
    const int64_t *to,
        *from; /* alltoallv: elements for and from each rank of the group, while the sink runs */
};

typedef void (*comm_sink)(void *state, int rank, const struct comm_event *event);

/*
 * @brief Execute one rank of a workload without MPI.
 * @pre workload_accepts(workload, problem, size, ...), and the problem's iterations are not 0
 */
void comm_dry_run(const struct workload *, const struct problem *, int rank, int size, comm_sink sink,
                  void *state);

/* @return the floating-point operations of the original in the timed section of one rank */
double comm_dry_operations(const struct workload *, const struct problem *, int rank, int size);

#endif
