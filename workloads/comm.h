/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a workload may do. A workload is written once against this interface and runs on two back ends:
 *
 *   comm_mpi  the MPI program: messages carry a known pattern, receivers check it
 *   comm_dry  no MPI: each rank's code is executed in turn and every call is handed to a sink, which
 *             counts it
 *
 * No call returns data, so that a workload's control flow depends on its problem, rank and size only. Buffers
 * belong to the back end: a workload says how much it sends, never what.
 */
#ifndef RANKWISE_WORKLOADS_COMM_H
#define RANKWISE_WORKLOADS_COMM_H

#include <stdint.h>

#include "kernel.h"

enum comm_type { COMM_BYTE, COMM_INT, COMM_DOUBLE, COMM_COMPLEX };
enum comm_operation { COMM_NO_OPERATION, COMM_MAX, COMM_MIN, COMM_SUM };

#define COMM_WORLD 0       /* the group of all ranks; comm_split and comm_dup return others */
#define COMM_EVERYWHERE -1 /* as a root: the result is for all ranks */

struct comm;

/* One back end. Counts are in elements of the type; peers are world ranks, roots ranks in the group. */
struct comm_calls {
    void (*send)(struct comm *, int destination, int tag, enum comm_type, int64_t count);
    int (*isend)(struct comm *, int destination, int tag, enum comm_type, int64_t count);
    void (*ssend)(struct comm *, int destination, int tag, enum comm_type, int64_t count);
    int (*issend)(struct comm *, int destination, int tag, enum comm_type, int64_t count);
    void (*recv)(struct comm *, int source, int tag, enum comm_type, int64_t capacity, int64_t count);
    int (*irecv)(struct comm *, int source, int from_any, int tag, enum comm_type, int64_t capacity,
                 int64_t count);
    void (*wait)(struct comm *, int request);
    void (*waitall)(struct comm *, const int *requests, int count);
    void (*relay)(struct comm *, int source, int destination, int tag, enum comm_type, int64_t count);
    void (*poll)(struct comm *);
    void (*finish_relay)(struct comm *);
    void (*barrier)(struct comm *, int group);
    void (*bcast)(struct comm *, int group, enum comm_type, int64_t count, int root);
    void (*reduce)(struct comm *, int group, enum comm_type, int64_t count, enum comm_operation, int root);
    void (*reduce_time)(struct comm *, int root);
    void (*allreduce)(struct comm *, int group, enum comm_type, int64_t count, enum comm_operation);
    void (*allgather)(struct comm *, int group, enum comm_type, int64_t count);
    void (*alltoall)(struct comm *, int group, enum comm_type, int64_t count);
    void (*alltoallv)(struct comm *, int group, int members, enum comm_type, const int64_t *to,
                      const int64_t *from);
    int (*split)(struct comm *, int color, int key);
    int (*dup)(struct comm *, int group);
    void (*messages_on)(struct comm *, int group);
    void (*compute)(struct comm *, double operations);
    void (*kernel)(struct comm *, enum comm_kernel, int64_t m, int64_t n, int64_t k, int64_t times);
    void (*divide)(struct comm *, int parts);
    void (*timer)(struct comm *, int running);
};

struct comm {
    const struct comm_calls *calls;
    int rank;
    int size;
};

/* Bytes of one element, as MPI counts MPI_BYTE, MPI_INTEGER, MPI_DOUBLE_PRECISION and MPI_DOUBLE_COMPLEX. */
static inline int comm_bytes(enum comm_type type) {
    return type == COMM_BYTE ? 1 : type == COMM_INT ? 4 : type == COMM_DOUBLE ? 8 : 16;
}

/* @brief Blocking send (MPI_Send). */
static inline void comm_send(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    c->calls->send(c, destination, tag, type, count);
}

/* @brief Begin a send (MPI_Isend). @return the request for comm_wait */
static inline int comm_isend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    return c->calls->isend(c, destination, tag, type, count);
}

/* @brief Blocking synchronous send (MPI_Ssend). */
static inline void comm_ssend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    c->calls->ssend(c, destination, tag, type, count);
}

/* @brief Begin a synchronous send (MPI_Issend). @return the request for comm_wait */
static inline int comm_issend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    return c->calls->issend(c, destination, tag, type, count);
}

/*
 * @brief Blocking receive (MPI_Recv), checked.
 * @param capacity elements the buffer holds, as the original gives it
 * @param count elements that must arrive
 */
static inline void comm_recv(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                             int64_t count) {
    c->calls->recv(c, source, tag, type, capacity, count);
}

/* @brief Post a receive (MPI_Irecv); as comm_recv. @return the request for comm_wait */
static inline int comm_irecv(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                             int64_t count) {
    return c->calls->irecv(c, source, 0, tag, type, capacity, count);
}

/* @brief Post a receive from MPI_ANY_SOURCE. @param source who sends, as only the workload knows */
static inline int comm_irecv_any(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                                 int64_t count) {
    return c->calls->irecv(c, source, 1, tag, type, capacity, count);
}

/* @brief Wait for a send or a receive (MPI_Wait) and check what arrived. */
static inline void comm_wait(struct comm *c, int request) {
    c->calls->wait(c, request);
}

/* @brief Wait for several (MPI_Waitall). */
static inline void comm_waitall(struct comm *c, const int *requests, int count) {
    c->calls->waitall(c, requests, count);
}

/*
 * @brief Have a message that is looked for now and then (MPI_Iprobe): when it is there, it is received and
 * sent on.
 *
 * One at a time. It is looked for at each poll, and by `comm_finish_relay`.
 * @param destination where it is sent on to, -1: nowhere
 */
static inline void comm_relay(struct comm *c, int source, int destination, int tag, enum comm_type type,
                              int64_t count) {
    c->calls->relay(c, source, destination, tag, type, count);
}

/* @brief Receive and send on the message of a relay, if it is there. */
static inline void comm_poll(struct comm *c) {
    c->calls->poll(c);
}

/* @brief Wait until there is nothing to relay. */
static inline void comm_finish_relay(struct comm *c) {
    c->calls->finish_relay(c);
}

static inline void comm_barrier(struct comm *c, int group) {
    c->calls->barrier(c, group);
}

static inline void comm_bcast(struct comm *c, int group, enum comm_type type, int64_t count, int root) {
    c->calls->bcast(c, group, type, count, root);
}

static inline void comm_reduce(struct comm *c, int group, enum comm_type type, int64_t count,
                               enum comm_operation operation, int root) {
    c->calls->reduce(c, group, type, count, operation, root);
}

/*
 * @brief The longest time of the timed section over all ranks: one double, MPI_MAX.
 * @param root where it is to be known (MPI_Reduce), or COMM_EVERYWHERE (MPI_Allreduce)
 */
static inline void comm_reduce_time(struct comm *c, int root) {
    c->calls->reduce_time(c, root);
}

static inline void comm_allreduce(struct comm *c, int group, enum comm_type type, int64_t count,
                                  enum comm_operation operation) {
    c->calls->allreduce(c, group, type, count, operation);
}

/* @param count elements that each rank of the group contributes */
static inline void comm_allgather(struct comm *c, int group, enum comm_type type, int64_t count) {
    c->calls->allgather(c, group, type, count);
}

/* @param count elements sent to each rank of the group */
static inline void comm_alltoall(struct comm *c, int group, enum comm_type type, int64_t count) {
    c->calls->alltoall(c, group, type, count);
}

/*
 * @param members ranks of the group
 * @param to elements sent to each of them
 * @param from elements that must arrive from each of them
 */
static inline void comm_alltoallv(struct comm *c, int group, int members, enum comm_type type,
                                  const int64_t *to, const int64_t *from) {
    c->calls->alltoallv(c, group, members, type, to, from);
}

/* @brief Split COMM_WORLD (MPI_Comm_split). @return the group this rank is in */
static inline int comm_split(struct comm *c, int color, int key) {
    return c->calls->split(c, color, key);
}

/*
 * @brief Copy a group (MPI_Comm_dup).
 * @param group of all ranks, in their order
 * @return the copy
 */
static inline int comm_dup(struct comm *c, int group) {
    return c->calls->dup(c, group);
}

/*
 * @brief Messages that are begun from here on are on this group; at first they are on COMM_WORLD.
 * @param group of all ranks, in their order
 */
static inline void comm_messages_on(struct comm *c, int group) {
    c->calls->messages_on(c, group);
}

/* @brief The place of this many floating-point operations of the original; how many are done is the user's
 * choice. */
static inline void comm_compute(struct comm *c, double operations) {
    c->calls->compute(c, operations);
}

/* @brief The place of one call of a computing kernel of the original, on matrices of these sizes. */
static inline void comm_kernel(struct comm *c, enum comm_kernel kernel, int64_t m, int64_t n, int64_t k) {
    c->calls->kernel(c, kernel, m, n, k, 1);
}

/* @brief The same, several times. */
static inline void comm_kernels(struct comm *c, enum comm_kernel kernel, int64_t m, int64_t n, int64_t k,
                                int64_t times) {
    c->calls->kernel(c, kernel, m, n, k, times);
}

/*
 * @brief Kernels from here on until `comm_divide(c, 0)` are done in this many equal parts, with a `comm_poll`
 * after each of them; as soon as there is nothing to relay, the rest is done at once.
 */
static inline void comm_divide(struct comm *c, int parts) {
    c->calls->divide(c, parts);
}

/* @brief Begin and end of the section the original times. */
static inline void comm_start_timer(struct comm *c) {
    c->calls->timer(c, 1);
}
static inline void comm_stop_timer(struct comm *c) {
    c->calls->timer(c, 0);
}

#endif
