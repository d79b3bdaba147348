/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking sends and receives. Counts of type int and MPI_Count share their code. */
#include "wrap/envelope.h"
#include "wrap/wrap.h"

/* ---- blocking sends ---- */

#define SEND(entry, name, call)                                                                              \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            const struct rw_envelope sent = rw_envelope(thread, count, datatype, dest, tag, comm);           \
            rw_count_message(thread, call, 0, sent.peer, sent.bytes);                                        \
            if (RW_UNLIKELY(thread->traced)) {                                                               \
                unsigned char *at = rw_trace_begin(thread, call, begin, end, 4);                             \
                if (at)                                                                                      \
                    rw_trace_end(thread, rw_put_send(at, &sent));                                            \
            }                                                                                                \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define SENDS(name, call, base, large, parameters) SEND(mpi, name, call) SEND(pmpi, name, call)
RW_CALLS_send(SENDS)

/* ---- blocking receives ---- */

static void record_receive(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                           const struct rw_envelope *posted, const MPI_Status *status) {
    const struct rw_envelope came = rw_arrived(posted->comm->peers, status);
    rw_count_message(thread, call, RW_DIRECTION_RECEIVE, came.peer, came.bytes);
    if (thread->traced) {
        unsigned char *at = rw_trace_begin(thread, call, begin, end, 6);
        if (at)
            rw_trace_end(thread, rw_put_receive(at, posted, &came));
    }
}

#define BEFORE_Recv
#define BEFORE_Mrecv                                                                                         \
    rw_requests_may_end(thread);                                                                             \
    const MPI_Message given_message = *message
#define POSTED_Recv rw_envelope(thread, 0, MPI_DATATYPE_NULL, source, tag, comm)
#define POSTED_Mrecv rw_matched(thread, given_message)

#define RECEIVE(entry, name, call, base)                                                                     \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        MPI_Status own_status;                                                                               \
        if (status == MPI_STATUS_IGNORE)                                                                     \
            status = &own_status;                                                                            \
        BEFORE_##base;                                                                                       \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            const struct rw_envelope posted = POSTED_##base;                                                 \
            record_receive(thread, call, begin, end, &posted, status);                                       \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define RECEIVES(name, call, base, large, parameters)                                                        \
    RECEIVE(mpi, name, call, base) RECEIVE(pmpi, name, call, base)
RW_CALLS_recv(RECEIVES)

/* ---- send and receive at once ---- */

#define SENT_Sendrecv rw_envelope(thread, sendcount, sendtype, dest, sendtag, comm)
#define SENT_Sendrecv_replace rw_envelope(thread, count, datatype, dest, sendtag, comm)

static void record_sendrecv(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                            const struct rw_envelope *sent, const struct rw_envelope *posted,
                            const MPI_Status *status) {
    const struct rw_envelope came = rw_arrived(posted->comm->peers, status);
    rw_count_message(thread, call, 0, sent->peer, sent->bytes);
    if (came.peer != -1) /* the call's total has what it sent */
        rw_count_messages(thread, came.peer < 0 ? RW_PEER_UNKNOWN : (uint32_t)came.peer,
                          call | RW_DIRECTION_RECEIVE, came.bytes, 1);
    if (thread->traced) {
        unsigned char *at = rw_trace_begin(thread, call, begin, end, 10);
        if (at)
            rw_trace_end(thread, rw_put_receive(rw_put_send(at, sent), posted, &came));
    }
}

#define SENDRECV(entry, name, call, base)                                                                    \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        MPI_Status own_status;                                                                               \
        if (status == MPI_STATUS_IGNORE)                                                                     \
            status = &own_status;                                                                            \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            const struct rw_envelope sent = SENT_##base, posted = rw_envelope(thread, 0, MPI_DATATYPE_NULL,  \
                                                                              source, recvtag, comm);        \
            record_sendrecv(thread, call, begin, end, &sent, &posted, status);                               \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define SENDRECVS(name, call, base, large, parameters)                                                       \
    SENDRECV(mpi, name, call, base) SENDRECV(pmpi, name, call, base)
RW_CALLS_sendrecv(SENDRECVS)
