/* SPDX-License-Identifier: BSD-3-Clause */
/* The back end without MPI: executes one rank's code at a time and hands each call to a sink. */
#ifndef RANKWISE_WORKLOADS_COMM_DRY_H
#define RANKWISE_WORKLOADS_COMM_DRY_H

#include "workload.h"

enum comm_event_kind {
    COMM_EVENT_SEND,
    COMM_EVENT_IRECV,
    COMM_EVENT_WAIT,
    COMM_EVENT_BARRIER,
    COMM_EVENT_BCAST,
    COMM_EVENT_REDUCE,
    COMM_EVENT_ALLREDUCE,
    COMM_EVENT_ALLTOALL,
    COMM_EVENT_SPLIT,
    COMM_EVENT_COMPUTE,
    COMM_EVENT_TIMER
};

/* One call of one rank. Fields without a meaning for its kind are 0. */
struct comm_event {
    enum comm_event_kind kind;
    int peer;          /* send: destination; irecv: source; bcast, reduce: root; split: color */
    int tag;           /* split: key */
    int group;         /* collectives: group they run in; split: the group it made */
    int request;       /* irecv: number of the request, 0, 1, 2, ... on each rank; wait: the one waited for */
    int type_bytes;    /* of one element */
    int64_t count;     /* elements; alltoall: for each rank; timer: 1 when it starts, 0 when it stops */
    double operations; /* compute: floating-point operations of the original */
};

typedef void (*comm_sink)(void *state, int rank, const struct comm_event *event);

/*
 * @brief Execute one rank of a workload without MPI.
 * @pre workload_accepts(workload, problem_class, size, ...)
 */
void comm_dry_run(const struct workload *, char problem_class, int iterations, int rank, int size,
                  comm_sink sink, void *state);

/* @return the floating-point operations of the original in the timed section of one rank */
double comm_dry_operations(const struct workload *, char problem_class, int iterations, int rank, int size);

#endif
