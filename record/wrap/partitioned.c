/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned communication: each partition counts as a message of its own, which is what a library may send
 * at the earliest. Sent when it is marked ready, received when the whole operation is complete.
 */
#include "wrap/envelope.h"
#include "wrap/wrap.h"

static void add_partitioned(struct rw_thread *thread, int kind, unsigned call, int partitions,
                            const struct rw_envelope *one, MPI_Request made) {
    struct rw_request *request = rw_request_new(kind, call);
    if (!request)
        return;
    if (one->peer < -1)
        thread->rank->flags |= RW_UNCLASSIFIED;
    request->persistent = 1;
    request->counted = one->peer != -1;
    request->peer = one->peer < 0 ? RW_PEER_UNKNOWN : (uint32_t)one->peer;
    request->bytes = one->bytes;
    request->partitions = partitions > 0 ? (uint32_t)partitions : 0;
    rw_request_add(request, (uintptr_t)made);
}

#define PARTITIONED(entry, name, kind, peer)                                                                 \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (result == MPI_SUCCESS) {                                                                         \
            const struct rw_envelope one = rw_envelope(thread, count, datatype, peer, tag, comm);            \
            add_partitioned(thread, kind, RW_CALL_##name, partitions, &one, *request);                       \
        }                                                                                                    \
        if (RW_UNLIKELY(thread->traced))                                                                     \
            rw_trace_plain(thread, RW_CALL_##name, begin, end);                                              \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
PARTITIONED(mpi, Psend_init, RW_REQUEST_PARTITIONED_SEND, dest)
PARTITIONED(pmpi, Psend_init, RW_REQUEST_PARTITIONED_SEND, dest)
PARTITIONED(mpi, Precv_init, RW_REQUEST_PARTITIONED_RECEIVE, source)
PARTITIONED(pmpi, Precv_init, RW_REQUEST_PARTITIONED_RECEIVE, source)

static void send_partitions(struct rw_thread *thread, MPI_Request handle, int64_t partitions) {
    struct rw_request request;
    if (partitions <= 0 || !rw_request_look_up((uintptr_t)handle, &request) || !request.counted)
        return;
    thread->totals[request.call].bytes += request.bytes * (uint64_t)partitions;
    rw_count_messages(thread, request.peer, request.call, request.bytes, (uint64_t)partitions);
}

#define READY_Pready 1
#define READY_Pready_range (int64_t)partition_high - partition_low + 1
#define READY_Pready_list length
#define READY(entry, name, call)                                                                             \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS))                                                                \
            send_partitions(thread, request, READY_##name);                                                  \
        if (RW_UNLIKELY(thread->traced))                                                                     \
            rw_trace_plain(thread, call, begin, end);                                                        \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define READIES(name, call, base, large, parameters) READY(mpi, name, call) READY(pmpi, name, call)
RW_CALLS_pready(READIES)
