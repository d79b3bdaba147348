/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: blocking, nonblocking and persistent. For each operation a DESCRIBE macro puts its arguments
 * into the words of rw_collective_entry, reading only those that are significant at this rank (MPI_IN_PLACE,
 * root-only arguments, the two sides of intercommunicators).
 */
#include "handles/datatypes.h"
#include "handles/requests.h"
#include "trace/trace.h"
#include "wrap/collective_call.h"
#include "wrap/recent_collectives.h"
#include "wrap/wrap.h"

#define BLOCK(count, datatype) block(thread, &call, (int64_t)(count), datatype)

/* Bytes of a block, noting the element's size. */
static uint64_t block(struct rw_thread *thread, struct rw_collective_call *call, int64_t count,
                      MPI_Datatype datatype) {
    uint64_t bytes = rw_datatype_bytes(thread, datatype);
    call->entry.datatype_bytes = (uint32_t)bytes;
#if defined(RW_MPICH_ABI)
    if (((uint32_t)datatype & 0xff000000u) != 0x4c000000u)
#endif
        if (rw_datatype(thread, datatype)->derived)
            call->entry.flags |= RW_COLL_DERIVED_TYPE;
    return count > 0 ? (uint64_t)count * bytes : 0;
}

/* Field by field: clearing it as a whole takes longer than a short collective. */
static inline void begin_call(struct rw_thread *thread, struct rw_collective_call *call, unsigned number,
                              MPI_Comm comm) {
    call->comm = rw_communicator(thread, comm);
    call->entry.call = (uint16_t)number;
    call->entry.flags = call->comm->inter ? RW_COLL_INTERCOMM : 0;
    call->entry.comm = call->comm->index;
    call->entry.root = -1;
    call->entry.datatype_bytes = 0;
    call->entry.bytes = 0;
    call->entry.bytes2 = 0;
    call->neighbours = NULL;
    call->kind = RW_NO_SIZES;
    call->count = 0;
    call->counts = NULL;
    call->types = NULL;
    call->in_bytes = 0;
    call->gather_root = RW_PEER_EMPTY;
}

static uint64_t count_of(const void *counts, int large, int i) {
    int64_t count = large ? (int64_t)((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
    return count > 0 ? (uint64_t)count : 0;
}

/* Elements of all ranks. */
static uint64_t sum_of(const void *counts, int large, uint32_t ranks) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ranks; i++)
        sum += count_of(counts, large, (int)i);
    return sum;
}

static void give_sizes(struct rw_collective_call *call, enum rw_sizes kind, const void *counts, int large,
                       uint32_t count) {
    call->kind = kind;
    call->counts = counts;
    call->large = large;
    call->count = count;
}

/* Root, and whether this rank is it; the two groups of an intercommunicator say MPI_ROOT, MPI_PROC_NULL, a
 * rank. */
enum side { ROOT_SIDE, LEAF_SIDE, NO_SIDE };

static enum side side_of(struct rw_collective_call *call, int root) {
    if (!call->comm->inter) {
        call->entry.root = root;
        return root == call->comm->rank ? ROOT_SIDE : LEAF_SIDE;
    }
    call->entry.root = root == MPI_ROOT ? RW_ROOT_HERE : root == MPI_PROC_NULL ? -1 : root;
    return root == MPI_ROOT ? ROOT_SIDE : root == MPI_PROC_NULL ? NO_SIDE : LEAF_SIDE;
}

#define IN_PLACE(buffer) ((const void *)(buffer) == (const void *)MPI_IN_PLACE)
#define MARK_IN_PLACE call.entry.flags |= RW_COLL_IN_PLACE
#define RECEIVE_SIDE call.entry.flags |= RW_COLL_RECEIVE_SIDE

static void note_operation(struct rw_collective_call *call, MPI_Op op) {
    int commutes = 1;
    if (!rw_op_is_predefined(op))
        RW_PMPI_CALL(Op_commutative, MPI_Op, int *)(op, &commutes);
    if (!commutes)
        call->entry.flags |= RW_COLL_NONCOMMUTATIVE;
}

#define DESCRIBE_Barrier(wide)

#define DESCRIBE_Bcast(wide)                                                                                 \
    const enum side side = side_of(&call, root);                                                             \
    if (side != NO_SIDE)                                                                                     \
        call.entry.bytes = BLOCK(count, datatype);                                                           \
    if (side != ROOT_SIDE)                                                                                   \
        RECEIVE_SIDE;

#define DESCRIBE_REDUCTION                                                                                   \
    if (IN_PLACE(sendbuf))                                                                                   \
        MARK_IN_PLACE;                                                                                       \
    note_operation(&call, op)
#define DESCRIBE_Allreduce(wide)                                                                             \
    DESCRIBE_REDUCTION;                                                                                      \
    call.entry.bytes = BLOCK(count, datatype);
#define DESCRIBE_Scan(wide) DESCRIBE_Allreduce(wide)
#define DESCRIBE_Exscan(wide) DESCRIBE_Allreduce(wide)
#define DESCRIBE_Reduce(wide)                                                                                \
    const enum side side = side_of(&call, root);                                                             \
    if (side != NO_SIDE) {                                                                                   \
        if (side == ROOT_SIDE && IN_PLACE(sendbuf))                                                          \
            MARK_IN_PLACE;                                                                                   \
        note_operation(&call, op);                                                                           \
        call.entry.bytes = BLOCK(count, datatype);                                                           \
    }                                                                                                        \
    if (call.comm->inter && side != LEAF_SIDE)                                                               \
        RECEIVE_SIDE;
#define DESCRIBE_Reduce_scatter_block(wide)                                                                  \
    DESCRIBE_REDUCTION;                                                                                      \
    call.entry.bytes = BLOCK(recvcount, datatype);
#define DESCRIBE_Reduce_scatter(wide)                                                                        \
    DESCRIBE_REDUCTION;                                                                                      \
    call.entry.bytes = BLOCK(count_of(recvcounts, wide, call.comm->rank), datatype);                         \
    call.entry.bytes2 = sum_of(recvcounts, wide, call.comm->group->size) * call.entry.datatype_bytes;        \
    give_sizes(&call, RW_CONTRIBUTIONS, recvcounts, wide, call.comm->group->size);

#define DESCRIBE_Allgather(wide)                                                                             \
    if (IN_PLACE(sendbuf)) {                                                                                 \
        MARK_IN_PLACE;                                                                                       \
        call.entry.bytes = BLOCK(recvcount, recvtype);                                                       \
    } else                                                                                                   \
        call.entry.bytes = BLOCK(sendcount, sendtype);
#define DESCRIBE_Alltoall(wide) DESCRIBE_Allgather(wide)
#define DESCRIBE_Allgatherv(wide)                                                                            \
    call.entry.bytes =                                                                                       \
        BLOCK(IN_PLACE(sendbuf) ? (int64_t)count_of(recvcounts, wide, call.comm->rank) : 0, recvtype);       \
    call.entry.bytes2 = sum_of(recvcounts, wide, call.comm->peers->size) * call.entry.datatype_bytes;        \
    give_sizes(&call, RW_CONTRIBUTIONS, recvcounts, wide, call.comm->peers->size);                           \
    if (IN_PLACE(sendbuf))                                                                                   \
        MARK_IN_PLACE;                                                                                       \
    else                                                                                                     \
        call.entry.bytes = sendcount > 0 ? (uint64_t)sendcount * rw_datatype_bytes(thread, sendtype) : 0;

#define DESCRIBE_Gather(wide)                                                                                \
    const enum side side = side_of(&call, root);                                                             \
    if (side == ROOT_SIDE && (call.comm->inter || IN_PLACE(sendbuf))) {                                      \
        if (call.comm->inter)                                                                                \
            RECEIVE_SIDE;                                                                                    \
        else                                                                                                 \
            MARK_IN_PLACE;                                                                                   \
        call.entry.bytes = BLOCK(recvcount, recvtype);                                                       \
    } else if (side != NO_SIDE)                                                                              \
        call.entry.bytes = BLOCK(sendcount, sendtype);
#define DESCRIBE_Gatherv(wide)                                                                               \
    const enum side side = side_of(&call, root);                                                             \
    if (side == ROOT_SIDE) {                                                                                 \
        const int own = !call.comm->inter;                                                                   \
        if (!own)                                                                                            \
            RECEIVE_SIDE;                                                                                    \
        else if (IN_PLACE(sendbuf))                                                                          \
            MARK_IN_PLACE;                                                                                   \
        call.entry.bytes = BLOCK(own ? (int64_t)count_of(recvcounts, wide, call.comm->rank) : 0, recvtype);  \
        call.entry.bytes2 = sum_of(recvcounts, wide, call.comm->peers->size) * call.entry.datatype_bytes;    \
        give_sizes(&call, RW_CONTRIBUTIONS, recvcounts, wide, call.comm->peers->size);                       \
    } else if (side == LEAF_SIDE) {                                                                          \
        call.entry.bytes = BLOCK(sendcount, sendtype);                                                       \
        call.gather_root = rw_world_rank(call.comm->peers, root);                                            \
    }

#define DESCRIBE_Scatter(wide)                                                                               \
    const enum side side = side_of(&call, root);                                                             \
    if (side == ROOT_SIDE) {                                                                                 \
        if (!call.comm->inter && IN_PLACE(recvbuf))                                                          \
            MARK_IN_PLACE;                                                                                   \
        call.entry.bytes = BLOCK(sendcount, sendtype);                                                       \
    } else {                                                                                                 \
        RECEIVE_SIDE;                                                                                        \
        if (side == LEAF_SIDE)                                                                               \
            call.entry.bytes = BLOCK(recvcount, recvtype);                                                   \
    }
#define DESCRIBE_Scatterv(wide)                                                                              \
    const enum side side = side_of(&call, root);                                                             \
    if (side == ROOT_SIDE) {                                                                                 \
        const int own = !call.comm->inter;                                                                   \
        if (own && IN_PLACE(recvbuf))                                                                        \
            MARK_IN_PLACE;                                                                                   \
        call.entry.bytes = BLOCK(own ? (int64_t)count_of(sendcounts, wide, call.comm->rank) : 0, sendtype);  \
        call.entry.bytes2 = sum_of(sendcounts, wide, call.comm->peers->size) * call.entry.datatype_bytes;    \
        give_sizes(&call, RW_SENDS, sendcounts, wide, call.comm->peers->size);                               \
    } else {                                                                                                 \
        RECEIVE_SIDE;                                                                                        \
        if (side == LEAF_SIDE)                                                                               \
            call.entry.bytes = BLOCK(recvcount, recvtype);                                                   \
    }

/* In place, what is received has the sizes of what is sent. */
#define DESCRIBE_Alltoallv(wide)                                                                             \
    const int in_place = IN_PLACE(sendbuf);                                                                  \
    const void *const counts = in_place ? recvcounts : sendcounts;                                           \
    if (in_place)                                                                                            \
        MARK_IN_PLACE;                                                                                       \
    call.entry.bytes = BLOCK(sum_of(counts, wide, call.comm->peers->size), in_place ? recvtype : sendtype);  \
    give_sizes(&call, RW_SENDS, counts, wide, call.comm->peers->size);
#define DESCRIBE_Alltoallw(wide)                                                                             \
    const int in_place = IN_PLACE(sendbuf);                                                                  \
    if (in_place)                                                                                            \
        MARK_IN_PLACE;                                                                                       \
    give_sizes(&call, RW_SENDS, in_place ? recvcounts : sendcounts, wide, call.comm->peers->size);           \
    call.types = in_place ? recvtypes : sendtypes;                                                           \
    sum_types(thread, &call);

/* With a datatype for each rank, `bytes` is the sum and `datatype_bytes` 1. */
static void sum_types(struct rw_thread *thread, struct rw_collective_call *call) {
    call->entry.datatype_bytes = 1;
    for (uint32_t i = 0; i < call->count; i++) {
        uint64_t count = count_of(call->counts, call->large, (int)i);
        if (count)
            call->entry.bytes += count * rw_datatype_bytes(thread, call->types[i]);
    }
}

/* The number of destinations; their sizes are given by the caller. */
static uint32_t find_destinations(struct rw_collective_call *call, MPI_Comm comm) {
    call->neighbours = rw_neighbours(call->comm, comm);
    if (!call->neighbours)
        return 0;
    call->kind = RW_NEIGHBOURS;
    return call->count = call->neighbours->out;
}

#define DESCRIBE_Neighbor_allgather(wide)                                                                    \
    find_destinations(&call, comm);                                                                          \
    call.entry.bytes = call.same_size = BLOCK(sendcount, sendtype);
#define DESCRIBE_Neighbor_allgatherv(wide) DESCRIBE_Neighbor_allgather(wide)
#define DESCRIBE_Neighbor_alltoall(wide) DESCRIBE_Neighbor_allgather(wide)
#define DESCRIBE_Neighbor_alltoallv(wide)                                                                    \
    const uint32_t destinations = find_destinations(&call, comm);                                            \
    call.counts = sendcounts;                                                                                \
    call.large = wide;                                                                                       \
    call.entry.bytes = destinations ? BLOCK(sum_of(sendcounts, wide, destinations), sendtype) : 0;
#define DESCRIBE_Neighbor_alltoallw(wide)                                                                    \
    find_destinations(&call, comm);                                                                          \
    call.counts = sendcounts;                                                                                \
    call.large = wide;                                                                                       \
    call.types = sendtypes;                                                                                  \
    sum_types(thread, &call);

/* ---- the three forms ---- */

static void record_blocking(struct rw_thread *thread, const struct rw_collective_call *call, uint64_t begin,
                            uint64_t end) {
    rw_record_collective(thread, call, end - begin);
    if (thread->traced)
        rw_trace_collective(thread, call, begin, end);
}

static void record_nonblocking(struct rw_thread *thread, const struct rw_collective_call *call,
                               MPI_Request made, uint64_t begin, uint64_t end) {
    rw_record_collective(thread, call, end - begin);
    if (!rw_keep_request(thread, (uintptr_t)made))
        return;
    struct rw_request *request = rw_request_new(RW_REQUEST_COLLECTIVE, call->entry.call);
    if (request)
        rw_request_add(request, (uintptr_t)made);
    if (thread->traced)
        rw_trace_collective(thread, call, begin, end);
}

static void record_persistent(struct rw_thread *thread, const struct rw_collective_call *call,
                              MPI_Request made, uint64_t begin, uint64_t end) {
    struct rw_request *request = rw_request_new(RW_REQUEST_COLLECTIVE, call->entry.call);
    if (request) {
        request->persistent = 1;
        request->collective = rw_keep_collective(thread, call);
        rw_request_add(request, (uintptr_t)made);
    }
    if (thread->traced)
        rw_trace_collective(thread, call, begin, end);
}

#define BLOCKING_COLLECTIVE(entry, name, number, base, wide)                                                 \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS) &&                                                              \
            !rw_count_again(thread, number, end - begin, comm, RW_FEW_##base)) {                             \
            struct rw_collective_call call;                                                                  \
            begin_call(thread, &call, number, comm);                                                         \
            DESCRIBE_##base(wide);                                                                           \
            record_blocking(thread, &call, begin, end);                                                      \
            rw_count_likewise(thread, &call, comm, RW_FEW_##base);                                           \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }

/* Nonblocking and persistent. */
#define COLLECTIVE(entry, name, number, base, wide, record)                                                  \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            struct rw_collective_call call;                                                                  \
            begin_call(thread, &call, number, comm);                                                         \
            DESCRIBE_##base(wide);                                                                           \
            record;                                                                                          \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define BLOCKING(name, number, base, wide, parameters)                                                       \
    BLOCKING_COLLECTIVE(mpi, name, number, base, wide)                                                       \
    BLOCKING_COLLECTIVE(pmpi, name, number, base, wide)
#define NONBLOCKING(name, number, base, wide, parameters)                                                    \
    COLLECTIVE(mpi, name, number, base, wide, record_nonblocking(thread, &call, *request, begin, end))       \
    COLLECTIVE(pmpi, name, number, base, wide, record_nonblocking(thread, &call, *request, begin, end))
#define PERSISTENT(name, number, base, wide, parameters)                                                     \
    COLLECTIVE(mpi, name, number, base, wide, record_persistent(thread, &call, *request, begin, end))        \
    COLLECTIVE(pmpi, name, number, base, wide, record_persistent(thread, &call, *request, begin, end))

RW_CALLS_collective(BLOCKING)
RW_CALLS_icollective(NONBLOCKING)
RW_CALLS_collective_init(PERSISTENT)
