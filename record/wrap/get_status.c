/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Request_get_status: counted; what it says of a persistent receive is kept. MPICH, up to 5.0.2 at least,
 * has no status left for the call that completes it afterwards.
 */
#include "wrap/envelope.h"
#include "wrap/wrap.h"

static void keep_status(MPI_Request handle, const MPI_Status *status) {
    struct rw_request known;
    if (!rw_any_requests() || status->MPI_SOURCE == MPI_ANY_SOURCE || rw_status_cancelled(status) ||
        !rw_request_look_up((uintptr_t)handle, &known) || known.kind != RW_REQUEST_RECEIVE ||
        !known.persistent || !known.peers)
        return;
    const struct rw_envelope came = rw_arrived(known.peers, status);
    rw_request_note((uintptr_t)handle, came.peer, came.tag, came.bytes);
}

#define GET_STATUS(entry)                                                                                    \
    RW_SIGNATURE(entry, Request_get_status) {                                                                \
        RW_BEGIN(entry, Request_get_status);                                                                 \
        MPI_Status own_status;                                                                               \
        if (status == MPI_STATUS_IGNORE)                                                                     \
            status = &own_status;                                                                            \
        const int result = RW_CONTINUE(entry, Request_get_status);                                           \
        RW_CALLED(Request_get_status);                                                                       \
        if (result == MPI_SUCCESS && *flag)                                                                  \
            keep_status(request, status);                                                                    \
        if (RW_UNLIKELY(thread->traced))                                                                     \
            rw_trace_plain(thread, RW_CALL_Request_get_status, begin, end);                                  \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
GET_STATUS(mpi)
GET_STATUS(pmpi)
