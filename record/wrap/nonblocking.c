/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking and persistent sends and receives. Sends are counted here (persistent ones when started);
 * receives when they complete, by what came. The request is remembered where its completion will say
 * something.
 */
#include "handles/shared_requests.h"
#include "wrap/envelope.h"
#include "wrap/wrap.h"

static void add_send_request(struct rw_thread *thread, unsigned call, const struct rw_envelope *sent,
                             MPI_Request made, int persistent) {
    if (!persistent && !rw_keep_request(thread, (uintptr_t)made))
        return;
    const uint32_t peer = sent->peer < 0 ? RW_PEER_UNKNOWN : (uint32_t)sent->peer;
    struct rw_near_request *near =
        persistent ? NULL : rw_near_add(thread, (uintptr_t)made, RW_REQUEST_SEND, call);
    if (near) {
        near->counted = sent->peer != -1;
        near->peer = peer;
        near->bytes = sent->bytes;
        return;
    }
    struct rw_request *request = rw_request_new(RW_REQUEST_SEND, call);
    if (!request)
        return;
    request->persistent = (uint8_t)persistent;
    request->counted = sent->peer != -1;
    request->peer = peer;
    request->bytes = sent->bytes;
    rw_request_add(request, (uintptr_t)made);
}

/* In case it is cancelled. */
static inline void remember_recent(struct rw_thread *thread, unsigned call, const struct rw_envelope *sent,
                                   MPI_Request made) {
#if !defined(OPEN_MPI)
    thread->recent_sends[(uintptr_t)made % RW_RECENT_SENDS] = (struct rw_recent_send){
        (uintptr_t)made, sent->bytes, sent->peer < 0 ? RW_PEER_UNKNOWN : (uint32_t)sent->peer,
        sent->peer == -1 ? 0 : call};
#else
    (void)thread;
    (void)call;
    (void)sent;
    (void)made;
#endif
}

static void add_receive_request(struct rw_thread *thread, unsigned call, const struct rw_envelope *posted,
                                MPI_Request made, int persistent) {
    if (posted->peer == -1 && !persistent && !rw_keep_request(thread, (uintptr_t)made))
        return;
    /* MPICH 4.0 says of what came from nobody that it came from rank 0. */
    struct rw_group *const peers = posted->peer == -1 ? NULL : posted->comm->peers;
    if (RW_UNLIKELY(rw_process.multiple) && !persistent) {
        rw_shared_add_receive((uintptr_t)made, thread->numbered++, call, peers);
        return;
    }
    struct rw_near_request *near =
        persistent ? NULL : rw_near_add(thread, (uintptr_t)made, RW_REQUEST_RECEIVE, call);
    if (near) {
        near->peers = peers;
        return;
    }
    struct rw_request *request = rw_request_new(RW_REQUEST_RECEIVE, call);
    if (!request)
        return;
    request->persistent = (uint8_t)persistent;
    request->peers = peers;
    rw_request_add(request, (uintptr_t)made);
}

static void trace_nonblocking(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                              const struct rw_envelope *sent, const struct rw_envelope *posted) {
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 8);
    if (!at)
        return;
    if (sent)
        at = rw_put_send(at, sent);
    if (posted)
        at = rw_put_send(at, posted); /* the same four numbers, its bytes being the capacity */
    rw_trace_end(thread, at);
}

#define ISEND(entry, name, call, is_persistent)                                                              \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            const struct rw_envelope sent = rw_envelope(thread, count, datatype, dest, tag, comm);           \
            if (!is_persistent) {                                                                            \
                rw_count_message(thread, call, 0, sent.peer, sent.bytes);                                    \
                remember_recent(thread, call, &sent, *request);                                              \
            }                                                                                                \
            add_send_request(thread, call, &sent, *request, is_persistent);                                  \
            if (RW_UNLIKELY(thread->traced))                                                                 \
                trace_nonblocking(thread, call, begin, end, &sent, 0);                                       \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define ISENDS(name, call, base, large, parameters) ISEND(mpi, name, call, 0) ISEND(pmpi, name, call, 0)
#define SEND_INITS(name, call, base, large, parameters) ISEND(mpi, name, call, 1) ISEND(pmpi, name, call, 1)
RW_CALLS_isend(ISENDS)
RW_CALLS_send_init(SEND_INITS)

/* Its size is for the trace only. */
#define POSTED_Recv                                                                                          \
    rw_envelope(thread, RW_UNLIKELY(thread->traced) ? (int64_t)count : 0, datatype, source, tag, comm)
#define POSTED_Mrecv with_capacity(thread, given_message, count, datatype)
#define BEFORE_Recv
#define BEFORE_Mrecv                                                                                         \
    rw_requests_may_end(thread);                                                                             \
    const MPI_Message given_message = *message

static struct rw_envelope with_capacity(struct rw_thread *thread, MPI_Message message, int64_t count,
                                        MPI_Datatype datatype) {
    struct rw_envelope posted = rw_matched(thread, message);
    posted.bytes = count > 0 && posted.peer != -1 ? (uint64_t)count * rw_datatype_bytes(thread, datatype) : 0;
    return posted;
}

#define IRECEIVE(entry, name, call, base, is_persistent)                                                     \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        BEFORE_##base;                                                                                       \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            const struct rw_envelope posted = POSTED_##base;                                                 \
            add_receive_request(thread, call, &posted, *request, is_persistent);                             \
            if (RW_UNLIKELY(thread->traced))                                                                 \
                trace_nonblocking(thread, call, begin, end, 0, &posted);                                     \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define IRECEIVES(name, call, base, large, parameters)                                                       \
    IRECEIVE(mpi, name, call, base, 0) IRECEIVE(pmpi, name, call, base, 0)
#define RECV_INITS(name, call, base, large, parameters)                                                      \
    IRECEIVE(mpi, name, call, base, 1) IRECEIVE(pmpi, name, call, base, 1)
RW_CALLS_irecv(IRECEIVES)
RW_CALLS_recv_init(RECV_INITS)

#define SENT_Sendrecv rw_envelope(thread, sendcount, sendtype, dest, sendtag, comm)
#define SENT_Sendrecv_replace rw_envelope(thread, count, datatype, dest, sendtag, comm)
#define POSTED_Sendrecv rw_envelope(thread, recvcount, recvtype, source, recvtag, comm)
#define POSTED_Sendrecv_replace rw_envelope(thread, count, datatype, source, recvtag, comm)

/* MPICH, up to 5.0 at least, completes it with a status that is not the receive's: what came is not known
   there. */
static void add_sendrecv_request(struct rw_thread *thread, unsigned call, const struct rw_envelope *sent,
                                 const struct rw_envelope *posted, MPI_Request made) {
#if defined(OPEN_MPI)
    (void)sent;
    add_receive_request(thread, call, posted, made, 0);
#else
    (void)posted;
    add_send_request(thread, call, sent, made, 0);
#endif
}

#define ISENDRECV(entry, name, call, base)                                                                   \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            const struct rw_envelope sent = SENT_##base, posted = POSTED_##base;                             \
            rw_count_message(thread, call, 0, sent.peer, sent.bytes);                                        \
            add_sendrecv_request(thread, call, &sent, &posted, *request);                                    \
            if (RW_UNLIKELY(thread->traced))                                                                 \
                trace_nonblocking(thread, call, begin, end, &sent, &posted);                                 \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define ISENDRECVS(name, call, base, large, parameters)                                                      \
    ISENDRECV(mpi, name, call, base) ISENDRECV(pmpi, name, call, base)
RW_CALLS_isendrecv(ISENDRECVS)
