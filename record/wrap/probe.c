/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes: counted; successful ones are traced, and matched messages remembered until they are received. */
#include "wrap/envelope.h"
#include "wrap/wrap.h"

struct rw_envelope rw_matched(struct rw_thread *thread, MPI_Message message) {
    struct rw_envelope posted = {.comm = rw_communicator(thread, MPI_COMM_NULL), .peer = -3, .tag = -1};
    if (message == MPI_MESSAGE_NO_PROC) {
        posted.peer = -1;
        return posted;
    }
    struct rw_request found;
    if (rw_request_take(rw_message_key(message), &found)) {
        posted.comm = found.probed;
        posted.peer = found.posted_peer;
        posted.tag = found.posted_tag;
    }
    return posted;
}

static void remember(unsigned call, MPI_Message message, const struct rw_envelope *posted) {
    if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL)
        return;
    struct rw_request *request = rw_request_new(RW_REQUEST_MESSAGE, call);
    if (!request)
        return;
    request->probed = posted->comm;
    request->posted_peer = posted->peer;
    request->posted_tag = posted->tag;
    rw_request_add(request, rw_message_key(message));
}

static void trace_probe(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                        const struct rw_envelope *posted, const MPI_Status *status) {
    const struct rw_envelope came = rw_arrived(posted->comm->peers, status);
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 6);
    if (at)
        rw_trace_end(thread, rw_put_receive(at, posted, &came));
}

#define FOUND_Probe 1
#define FOUND_Iprobe (*flag)
#define FOUND_Mprobe 1
#define FOUND_Improbe (*flag)
#define REMEMBER_Probe
#define REMEMBER_Iprobe
#define REMEMBER_Mprobe remember(RW_CALL_Mprobe, *message, &posted)
#define REMEMBER_Improbe remember(RW_CALL_Improbe, *message, &posted)

#define PROBE(entry, name, call)                                                                             \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        MPI_Status own_status;                                                                               \
        if (RW_UNLIKELY(thread->traced) && status == MPI_STATUS_IGNORE)                                      \
            status = &own_status;                                                                            \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (result == MPI_SUCCESS && FOUND_##name) {                                                         \
            const struct rw_envelope posted = rw_envelope(thread, 0, MPI_DATATYPE_NULL, source, tag, comm);  \
            REMEMBER_##name;                                                                                 \
            if (RW_UNLIKELY(thread->traced))                                                                 \
                trace_probe(thread, call, begin, end, &posted, status);                                      \
        } else if (RW_UNLIKELY(thread->traced)) {                                                            \
            rw_trace_poll(thread, begin, end);                                                               \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define PROBES(name, call, base, large, parameters) PROBE(mpi, name, call) PROBE(pmpi, name, call)
RW_CALLS_probe(PROBES)
