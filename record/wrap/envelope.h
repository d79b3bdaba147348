/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a message is from or to, and how it is entered. */
#ifndef RANKWISE_RECORD_ENVELOPE_H
#define RANKWISE_RECORD_ENVELOPE_H

#include "handles/communicators.h"
#include "handles/datatypes.h"
#include "handles/requests.h"
#include "thread/tables.h"
#include "trace/trace.h"

struct rw_envelope {
    struct rw_communicator *comm;
    int64_t peer; /* as in the trace: world rank, -1 MPI_PROC_NULL, -2 MPI_ANY_SOURCE, -3 unknown */
    int tag;      /* -1 MPI_ANY_TAG */
    uint64_t bytes;
};

static inline int64_t rw_trace_peer(const struct rw_group *peers, int rank) {
    if (rank == MPI_PROC_NULL)
        return -1;
    if (rank == MPI_ANY_SOURCE)
        return -2;
    uint32_t peer = rw_world_rank(peers, rank);
    return peer == RW_PEER_UNKNOWN ? -3 : (int64_t)peer;
}

/** @brief The envelope a call states. Of a message to MPI_PROC_NULL the datatype need not be valid. */
static inline struct rw_envelope rw_envelope(struct rw_thread *thread, int64_t count, MPI_Datatype datatype,
                                             int peer, int tag, MPI_Comm handle) {
    struct rw_communicator *comm = rw_communicator(thread, handle);
    uint64_t bytes = 0;
    if (count > 0 && peer != MPI_PROC_NULL)
        bytes = (uint64_t)count * rw_datatype_bytes(thread, datatype);
    return (struct rw_envelope){comm, rw_trace_peer(comm->peers, peer), tag == MPI_ANY_TAG ? -1 : tag, bytes};
}

/** @brief Enter one message, unless it goes to MPI_PROC_NULL; `direction` is 0 or RW_DIRECTION_RECEIVE. */
static inline void rw_count_message(struct rw_thread *thread, unsigned call, unsigned direction, int64_t peer,
                                    uint64_t bytes) {
    if (peer == -1)
        return;
    if (RW_UNLIKELY(peer < 0)) {
        thread->rank->flags |= RW_UNCLASSIFIED;
        peer = RW_PEER_UNKNOWN;
    }
    thread->totals[call].bytes += bytes;
    rw_count_messages(thread, (uint32_t)peer, call | direction, bytes, 1);
}

static inline unsigned char *rw_put_send(unsigned char *at, const struct rw_envelope *sent) {
    at = rw_put_u(at, sent->comm->index);
    at = rw_put_z(at, sent->peer);
    at = rw_put_z(at, sent->tag);
    return rw_put_u(at, sent->bytes);
}

/** @brief What came, by the library's status. */
static inline struct rw_envelope rw_arrived(const struct rw_group *peers, const MPI_Status *status) {
    return (struct rw_envelope){.peer = rw_trace_peer(peers, status->MPI_SOURCE),
                                .tag = status->MPI_TAG == MPI_ANY_TAG ? -1 : status->MPI_TAG,
                                .bytes = status->MPI_SOURCE == MPI_PROC_NULL ? 0 : rw_status_bytes(status)};
}

static inline unsigned char *rw_put_receive(unsigned char *at, const struct rw_envelope *posted,
                                            const struct rw_envelope *came) {
    at = rw_put_u(at, posted->comm->index);
    at = rw_put_z(at, posted->peer);
    at = rw_put_z(at, posted->tag);
    at = rw_put_z(at, came->peer);
    at = rw_put_z(at, came->tag);
    return rw_put_u(at, came->bytes);
}

/**
 * @brief The envelope with which a message was probed, and forget it: its communicator is remembered under
 * its handle.
 */
RW_HIDDEN struct rw_envelope rw_matched(struct rw_thread *thread, MPI_Message message);

#endif
