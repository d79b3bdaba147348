/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting, completing, cancelling and freeing requests.
 *
 * The library forgets a request when it completes it, so handles are copied before the call and looked up
 * after it. Where the program ignores statuses and a receive may be among them, the library gets statuses of
 * ours.
 */
#include <stdlib.h>
#include <string.h>

#include "thread/current.h"
#include "wrap/collective_call.h"
#include "wrap/envelope.h"
#include "wrap/wrap.h"

#define FEW 32

/* ---- one completed operation ---- */

struct completed {
    struct rw_request request;
    struct rw_envelope came;
};

/* Enter what a completed operation says; 0 if the trace says nothing of it: unknown, not active, or not
 * numbered. */
static int complete(struct rw_thread *thread, MPI_Request handle, const MPI_Status *status,
                    struct completed *done) {
    struct rw_request *request = &done->request;
    if (!rw_request_take((uintptr_t)handle, request) || (request->persistent && !request->active))
        return 0;
    if ((request->kind == RW_REQUEST_SEND || request->kind == RW_REQUEST_CANCELLED_SEND) &&
        request->cancelling) {
        if (request->counted && rw_status_cancelled(status))
            rw_uncount_message(thread, request->peer, request->call, request->bytes);
    } else if (request->kind == RW_REQUEST_RECEIVE) {
        /* Field by field: a struct put together elsewhere and copied waits for its stores. */
        if (!request->peers || rw_status_cancelled(status)) {
            done->came.peer = -1;
            done->came.tag = request->peers ? 0 : -1;
            done->came.bytes = 0;
        } else {
            struct rw_envelope came = rw_arrived(request->peers, status);
            if (RW_UNLIKELY(request->reported && status->MPI_SOURCE == MPI_ANY_SOURCE)) {
                came.peer = request->came_peer;
                came.tag = request->came_tag;
                came.bytes = request->came_bytes;
            }
            done->came.peer = came.peer;
            done->came.tag = came.tag;
            done->came.bytes = came.bytes;
            rw_count_message(thread, request->call, RW_DIRECTION_RECEIVE, came.peer, came.bytes);
        }
    } else if (request->kind == RW_REQUEST_DUPLICATE) {
        rw_duplicate_done(request->duplicate, *request->new_comm);
    } else if (request->kind == RW_REQUEST_PARTITIONED_RECEIVE && request->counted) {
        thread->totals[request->call].bytes += request->bytes * request->partitions;
        rw_count_messages(thread, request->peer, request->call | RW_DIRECTION_RECEIVE, request->bytes,
                          request->partitions);
    }
    return request->kind <= RW_LAST_NUMBERED_REQUEST;
}

/* What complete() does, in short: without a trace, of a receive that is near and was not cancelled; 0 of all
 * others. */
static inline int complete_near(struct rw_thread *thread, MPI_Request handle, const MPI_Status *status) {
    struct rw_near_request *const near = rw_near_slot((uintptr_t)handle);
    if (RW_UNLIKELY(rw_process.multiple) || near->handle != (uintptr_t)handle || !near->handle ||
        near->kind != RW_REQUEST_RECEIVE || !near->peers || RW_UNLIKELY(rw_status_cancelled(status)))
        return 0;
    rw_count_message(thread, near->call, RW_DIRECTION_RECEIVE, rw_trace_peer(near->peers, status->MPI_SOURCE),
                     status->MPI_SOURCE == MPI_PROC_NULL ? 0 : rw_status_bytes(status));
    rw_near_forget(near);
    return 1;
}

static unsigned char *put_completed(const struct rw_thread *thread, unsigned char *at,
                                    const struct completed *done) {
    int receive = done->request.kind == RW_REQUEST_RECEIVE;
    at = rw_put_u(at, rw_request_back(thread, done->request.number));
    at = rw_put_u(at, (uint64_t)receive);
    if (receive) {
        at = rw_put_z(at, done->came.peer);
        at = rw_put_z(at, done->came.tag);
        at = rw_put_u(at, done->came.bytes);
    }
    return at;
}

static void complete_one(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                         MPI_Request handle, const MPI_Status *status) {
    struct completed done;
    if (RW_LIKELY(!thread->traced) && complete_near(thread, handle, status))
        return;
    int known = rw_any_requests() && complete(thread, handle, status, &done);
    if (!thread->traced)
        return;
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 6);
    if (!at)
        return;
    at = rw_put_u(at, (uint64_t)known);
    rw_trace_end(thread, known ? put_completed(thread, at, &done) : at);
}

/*
 * Several: `indices` (or all if NULL) of `handles`, each with its status. The number of those that are known
 * stands before them in the event, so it is written as if it took as many bytes as the number of all.
 */
static void complete_several(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end, int count,
                             const int *indices, const MPI_Request *handles, const MPI_Status *statuses) {
    unsigned char *at = NULL, *first = NULL;
    uint64_t known = 0, limit = count > 0 ? (uint64_t)count : 0;
    if (thread->traced)
        at = first = rw_trace_begin(thread, call, begin, end, 1 + 5 * limit);
    if (at)
        at = rw_put_u(at, limit);
    unsigned char *const numbers = at;
    for (uint64_t i = 0; i < limit && rw_any_requests(); i++) {
        struct completed done;
        const MPI_Request handle = handles[indices ? (uint64_t)indices[i] : i];
        if (!at && complete_near(thread, handle, &statuses[i]))
            continue;
        if (!complete(thread, handle, &statuses[i], &done))
            continue;
        known++;
        if (at)
            at = put_completed(thread, at, &done);
    }
    if (!at)
        return;
    /* LEB128 may be padded with continuation bytes: same width, smaller number. */
    for (unsigned char *byte = first; byte < numbers; byte++, known >>= 7)
        *byte = (unsigned char)((known & 0x7f) | (byte + 1 < numbers ? 0x80 : 0));
    rw_trace_end(thread, at);
}

/* After an error: forget what the library has freed, count what it says arrived all the same. */
static void complete_after_error(struct rw_thread *thread, int count, const MPI_Request *before,
                                 const MPI_Request *after, const MPI_Status *statuses) {
    for (int i = 0; i < count && rw_any_requests(); i++) {
        struct completed done;
        if (after[i] != MPI_REQUEST_NULL || before[i] == MPI_REQUEST_NULL)
            continue;
        if (statuses && statuses != MPI_STATUSES_IGNORE && statuses[i].MPI_ERROR == MPI_SUCCESS)
            complete(thread, before[i], &statuses[i], &done);
        else
            rw_request_take((uintptr_t)before[i], &done.request);
    }
}

/* ---- copies made before a call ---- */

struct copies {
    MPI_Request *handles; /* NULL without memory: then nothing is looked up */
    MPI_Status *statuses;
    MPI_Request few_handles[FEW];
    MPI_Status few_statuses[FEW];
};

static void copy_handles(struct rw_thread *thread, struct copies *copies, int count,
                         const MPI_Request *handles) {
    copies->handles = NULL;
    copies->statuses = NULL;
    if (count <= 0 || !(rw_any_requests() || thread->traced))
        return;
    if (count <= FEW) {
        copies->handles = copies->few_handles;
        copies->statuses = copies->few_statuses;
    } else {
        size_t statuses = (size_t)count * sizeof(MPI_Status);
        char *memory = rw_scratch(thread, statuses + (size_t)count * sizeof(MPI_Request));
        if (!memory)
            return;
        copies->statuses = (MPI_Status *)memory;
        copies->handles = (MPI_Request *)(memory + statuses);
    }
    memcpy(copies->handles, handles, (size_t)count * sizeof *handles);
}

/* ---- MPI_Wait, MPI_Test ---- */

#define IS_DONE_Wait 1
#define IS_DONE_Test (*flag)
#define ONE(entry, name)                                                                                     \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        rw_requests_may_end(thread);                                                                         \
        MPI_Status own_status;                                                                               \
        const MPI_Request handle = *request;                                                                 \
        if (status == MPI_STATUS_IGNORE)                                                                     \
            status = &own_status;                                                                            \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_UNLIKELY(result != MPI_SUCCESS))                                                              \
            complete_after_error(thread, 1, &handle, request, NULL);                                         \
        else if (IS_DONE_##name)                                                                             \
            complete_one(thread, RW_CALL_##name, begin, end, handle, status);                                \
        else if (RW_UNLIKELY(thread->traced))                                                                \
            rw_trace_poll(thread, begin, end);                                                               \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
ONE(mpi, Wait)
ONE(pmpi, Wait)
ONE(mpi, Test)
ONE(pmpi, Test)

/* ---- MPI_Waitall, MPI_Testall ---- */

#define IS_DONE_Waitall 1
#define IS_DONE_Testall (*flag)
#define ALL(entry, name)                                                                                     \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        rw_requests_may_end(thread);                                                                         \
        struct copies copies;                                                                                \
        copy_handles(thread, &copies, count, array_of_requests);                                             \
        if (array_of_statuses == MPI_STATUSES_IGNORE && copies.statuses)                                     \
            array_of_statuses = copies.statuses;                                                             \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_UNLIKELY(result != MPI_SUCCESS))                                                              \
            complete_after_error(thread, copies.handles ? count : 0, copies.handles, array_of_requests,      \
                                 array_of_statuses);                                                         \
        else if (IS_DONE_##name)                                                                             \
            complete_several(thread, RW_CALL_##name, begin, end, copies.handles ? count : 0, NULL,           \
                             copies.handles, array_of_statuses);                                             \
        else if (RW_UNLIKELY(thread->traced))                                                                \
            rw_trace_poll(thread, begin, end);                                                               \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
ALL(mpi, Waitall)
ALL(pmpi, Waitall)
ALL(mpi, Testall)
ALL(pmpi, Testall)

/* ---- MPI_Waitany, MPI_Testany ---- */

#define IS_DONE_Waitany 1
#define IS_DONE_Testany (*flag)
#define ANY(entry, name)                                                                                     \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        rw_requests_may_end(thread);                                                                         \
        struct copies copies;                                                                                \
        copy_handles(thread, &copies, count, array_of_requests);                                             \
        if (status == MPI_STATUS_IGNORE && copies.statuses)                                                  \
            status = copies.statuses;                                                                        \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_UNLIKELY(result != MPI_SUCCESS))                                                              \
            complete_after_error(thread, copies.handles ? count : 0, copies.handles, array_of_requests,      \
                                 NULL);                                                                      \
        else if (IS_DONE_##name)                                                                             \
            complete_one(thread, RW_CALL_##name, begin, end,                                                 \
                         copies.handles && *index != MPI_UNDEFINED ? copies.handles[*index]                  \
                                                                   : MPI_REQUEST_NULL,                       \
                         status);                                                                            \
        else if (RW_UNLIKELY(thread->traced))                                                                \
            rw_trace_poll(thread, begin, end);                                                               \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
ANY(mpi, Waitany)
ANY(pmpi, Waitany)
ANY(mpi, Testany)
ANY(pmpi, Testany)

/* ---- MPI_Waitsome, MPI_Testsome ---- */

#define SOME(entry, name)                                                                                    \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        rw_requests_may_end(thread);                                                                         \
        struct copies copies;                                                                                \
        copy_handles(thread, &copies, incount, array_of_requests);                                           \
        if (array_of_statuses == MPI_STATUSES_IGNORE && copies.statuses)                                     \
            array_of_statuses = copies.statuses;                                                             \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_UNLIKELY(result != MPI_SUCCESS))                                                              \
            complete_after_error(thread, copies.handles ? incount : 0, copies.handles, array_of_requests,    \
                                 NULL);                                                                      \
        else if (*outcount > 0 || RW_CALL_##name == RW_CALL_Waitsome)                                        \
            complete_several(thread, RW_CALL_##name, begin, end,                                             \
                             copies.handles && *outcount != MPI_UNDEFINED ? *outcount : 0, array_of_indices, \
                             copies.handles, array_of_statuses);                                             \
        else if (RW_UNLIKELY(thread->traced))                                                                \
            rw_trace_poll(thread, begin, end);                                                               \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
SOME(mpi, Waitsome)
SOME(pmpi, Waitsome)
SOME(mpi, Testsome)
SOME(pmpi, Testsome)

/* ---- MPI_Start, MPI_Startall ---- */

static void start_requests(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end, int count,
                           const MPI_Request *handles) {
    unsigned char *at = NULL, *first = NULL;
    uint64_t known = 0, limit = count > 0 ? (uint64_t)count : 0;
    if (thread->traced)
        at = first = rw_trace_begin(thread, call, begin, end, 1 + limit);
    if (at)
        at = rw_put_u(at, limit);
    unsigned char *const numbers = at;
    for (uint64_t i = 0; i < limit && rw_any_requests(); i++) {
        struct rw_request request;
        if (!rw_request_start((uintptr_t)handles[i], &request) || request.kind > RW_LAST_NUMBERED_REQUEST)
            continue;
        known++;
        if (at)
            at = rw_put_u(at, rw_request_back(thread, request.number));
        if (request.kind == RW_REQUEST_SEND && request.counted)
            rw_count_message(thread, request.call, 0,
                             request.peer == RW_PEER_UNKNOWN ? -3 : (int64_t)request.peer, request.bytes);
        if (request.kind == RW_REQUEST_COLLECTIVE && request.collective)
            rw_record_collective(thread, request.collective, end - begin);
    }
    if (!at)
        return;
    for (unsigned char *byte = first; byte < numbers; byte++, known >>= 7)
        *byte = (unsigned char)((known & 0x7f) | (byte + 1 < numbers ? 0x80 : 0));
    rw_trace_end(thread, at);
}

#define STARTED_Start 1, request
#define STARTED_Startall count, array_of_requests
#define START(entry, name)                                                                                   \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS))                                                                \
            start_requests(thread, RW_CALL_##name, begin, end, STARTED_##name);                              \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
START(mpi, Start)
START(pmpi, Start)
START(mpi, Startall)
START(pmpi, Startall)

/* ---- MPI_Cancel, MPI_Request_free ---- */

/* A send that was not remembered, unless too many others followed it. */
static void remember_cancelled_send(struct rw_thread *thread, MPI_Request handle) {
#if !defined(OPEN_MPI)
    const struct rw_recent_send *recent = &thread->recent_sends[(uintptr_t)handle % RW_RECENT_SENDS];
    if (recent->handle != (uintptr_t)handle || !recent->call)
        return;
    struct rw_request *request = rw_request_new(RW_REQUEST_CANCELLED_SEND, recent->call);
    if (!request)
        return;
    request->counted = request->cancelling = 1;
    request->peer = recent->peer;
    request->bytes = recent->bytes;
    rw_request_add(request, (uintptr_t)handle);
#else
    (void)thread;
    (void)handle;
#endif
}

static void note_request(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end,
                         const struct rw_request *known) {
    if (!thread->traced)
        return;
    unsigned char *at = rw_trace_begin(thread, call, begin, end, 1);
    if (at)
        rw_trace_end(thread, rw_put_u(at, known && known->kind <= RW_LAST_NUMBERED_REQUEST
                                              ? rw_request_back(thread, known->number)
                                              : 0));
}

#define CANCEL(entry)                                                                                        \
    RW_SIGNATURE(entry, Cancel) {                                                                            \
        RW_BEGIN(entry, Cancel);                                                                             \
        const MPI_Request handle = *request;                                                                 \
        const int result = RW_CONTINUE(entry, Cancel);                                                       \
        RW_CALLED(Cancel);                                                                                   \
        if (RW_LIKELY(result == MPI_SUCCESS)) {                                                              \
            struct rw_request cancelled;                                                                     \
            const int known = rw_request_cancel((uintptr_t)handle, &cancelled);                              \
            if (!known)                                                                                      \
                remember_cancelled_send(thread, handle);                                                     \
            note_request(thread, RW_CALL_Cancel, begin, end, known ? &cancelled : NULL);                     \
        }                                                                                                    \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
CANCEL(mpi)
CANCEL(pmpi)

/* Forgotten before the call: once it is free, the library may give the handle to another thread, which starts
 * it. */
#define FREE(entry)                                                                                          \
    RW_SIGNATURE(entry, Request_free) {                                                                      \
        RW_BEGIN(entry, Request_free);                                                                       \
        struct rw_request freed;                                                                             \
        const int known = rw_request_drop((uintptr_t)*request, &freed);                                      \
        const int result = RW_CONTINUE(entry, Request_free);                                                 \
        RW_CALLED(Request_free);                                                                             \
        if (known && freed.kind == RW_REQUEST_COLLECTIVE)                                                    \
            free(freed.collective);                                                                          \
        if (RW_LIKELY(result == MPI_SUCCESS))                                                                \
            note_request(thread, RW_CALL_Request_free, begin, end, known ? &freed : NULL);                   \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
FREE(mpi)
FREE(pmpi)
