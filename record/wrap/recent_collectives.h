/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives of the arguments that their function had last: counted without looking at them closer.
 * Only where few arguments say all, and calls are not traced. What is remembered holds until a communicator
 * or a datatype is freed, whose handle may then be used again.
 */
#ifndef RANKWISE_RECORD_RECENT_COLLECTIVES_H
#define RANKWISE_RECORD_RECENT_COLLECTIVES_H

#include "handles/datatypes.h"
#include "thread/tables.h"
#include "wrap/collective_call.h"

/* Arguments that say all of a call: datatype, op, count, root, whether in place. Of other functions: none. */
#define RW_FEW_ARGUMENTS(datatype, op, count, root, in_place)                                                \
    1, (uintptr_t)(datatype), (uintptr_t)(op), (int64_t)(count), root, in_place
#define RW_MANY_ARGUMENTS 0, 0, 0, 0, 0, 0
#define RW_FEW_Barrier RW_FEW_ARGUMENTS(0, 0, 0, 0, 0)
#define RW_FEW_Bcast RW_FEW_ARGUMENTS(datatype, 0, count, root, 0)
#define RW_FEW_Allreduce                                                                                     \
    RW_FEW_ARGUMENTS(datatype, op, count, 0, (const void *)(sendbuf) == (const void *)MPI_IN_PLACE)
#define RW_FEW_Scan RW_FEW_Allreduce
#define RW_FEW_Exscan RW_FEW_Allreduce
#define RW_FEW_Reduce                                                                                        \
    RW_FEW_ARGUMENTS(datatype, op, count, root, (const void *)(sendbuf) == (const void *)MPI_IN_PLACE)
#define RW_FEW_Reduce_scatter_block RW_MANY_ARGUMENTS
#define RW_FEW_Reduce_scatter RW_MANY_ARGUMENTS
#define RW_FEW_Allgather RW_MANY_ARGUMENTS
#define RW_FEW_Allgatherv RW_MANY_ARGUMENTS
#define RW_FEW_Alltoall RW_MANY_ARGUMENTS
#define RW_FEW_Alltoallv RW_MANY_ARGUMENTS
#define RW_FEW_Alltoallw RW_MANY_ARGUMENTS
#define RW_FEW_Gather RW_MANY_ARGUMENTS
#define RW_FEW_Gatherv RW_MANY_ARGUMENTS
#define RW_FEW_Scatter RW_MANY_ARGUMENTS
#define RW_FEW_Scatterv RW_MANY_ARGUMENTS
#define RW_FEW_Neighbor_allgather RW_MANY_ARGUMENTS
#define RW_FEW_Neighbor_allgatherv RW_MANY_ARGUMENTS
#define RW_FEW_Neighbor_alltoall RW_MANY_ARGUMENTS
#define RW_FEW_Neighbor_alltoallv RW_MANY_ARGUMENTS
#define RW_FEW_Neighbor_alltoallw RW_MANY_ARGUMENTS

static inline struct rw_recent_collective *rw_recent_collective(struct rw_thread *thread, unsigned call) {
    return &thread->recent_collectives[call % RW_RECENT_COLLECTIVES];
}

/* Count a call whose arguments are those of the last one of its function. */
static inline int rw_count_again(struct rw_thread *thread, unsigned call, uint64_t ticks, MPI_Comm comm,
                                 int few, uintptr_t datatype, uintptr_t op, int64_t count, int root,
                                 int in_place) {
    const struct rw_recent_collective *recent = rw_recent_collective(thread, call);
    if (!few || thread->traced || !recent->entry || recent->call != call || recent->comm != (uintptr_t)comm ||
        recent->datatype != datatype || recent->op != op || recent->count != count || recent->root != root ||
        recent->in_place != in_place ||
        recent->comm_generation != __atomic_load_n(&rw_comm_generation, __ATOMIC_RELAXED) ||
        recent->datatype_generation != __atomic_load_n(&rw_datatype_generation, __ATOMIC_RELAXED))
        return 0;
    recent->entry->ticks += ticks;
    recent->entry->count++;
    thread->totals[call].bytes += recent->bytes;
    return 1;
}

/* It was counted: so are those that follow it with these arguments. An operation of the program's may be
 * freed. */
static inline void rw_count_likewise(struct rw_thread *thread, const struct rw_collective_call *call,
                                     MPI_Comm comm, int few, uintptr_t datatype, uintptr_t op, int64_t count,
                                     int root, int in_place) {
    struct rw_collective_entry *const last = thread->last_collective;
    if (!few || thread->traced || !last || !last->count || (op && !rw_op_is_predefined((MPI_Op)op)))
        return;
    const struct rw_collective_key key = rw_collective_key(&call->entry);
    if (!rw_collective_matches(last, &key))
        return;
    *rw_recent_collective(thread, call->entry.call) = (struct rw_recent_collective){
        .entry = last,
        .comm_generation = __atomic_load_n(&rw_comm_generation, __ATOMIC_RELAXED),
        .comm = (uintptr_t)comm,
        .datatype = datatype,
        .op = op,
        .count = count,
        .root = root,
        .in_place = in_place,
        .call = call->entry.call,
        .datatype_generation = __atomic_load_n(&rw_datatype_generation, __ATOMIC_RELAXED),
        .bytes = call->entry.flags & RW_COLL_RECEIVE_SIDE ? 0 : call->entry.bytes,
    };
}

#endif
