/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided operations: only the origin knows of them, so it enters both directions. What goes to the target
 * is entered as sent, what comes back (get, the fetching operations) as received. Empty ones transfer
 * nothing.
 */
#include "handles/datatypes.h"
#include "handles/windows.h"
#include "trace/trace.h"
#include "wrap/envelope.h"
#include "wrap/wrap.h"

struct transfer {
    uint64_t to_target, from_target; /* bytes */
};

static uint64_t bytes_of(struct rw_thread *thread, int64_t count, MPI_Datatype datatype) {
    return count > 0 ? (uint64_t)count * rw_datatype_bytes(thread, datatype) : 0;
}

static void record_transfer(struct rw_thread *thread, unsigned call, int target, MPI_Win win,
                            struct transfer transfer) {
    const uint32_t peer = rw_world_rank(rw_window_group(win), target);
    if (peer == RW_PEER_UNKNOWN)
        thread->rank->flags |= RW_UNCLASSIFIED;
    thread->totals[call].bytes += transfer.to_target + transfer.from_target;
    if (transfer.to_target)
        rw_count_messages(thread, peer, call, transfer.to_target, 1);
    if (transfer.from_target)
        rw_count_messages(thread, peer, call | RW_DIRECTION_RECEIVE, transfer.from_target, 1);
}

#define ORIGIN bytes_of(thread, origin_count, origin_datatype)
#define RESULT bytes_of(thread, result_count, result_datatype)
#define ONE rw_datatype_bytes(thread, datatype)
/* MPI_NO_OP only fetches: the origin's buffer is not looked at. */
#define UNLESS_NO_OP(bytes) (op == MPI_NO_OP ? 0 : (bytes))
#define TRANSFER_Put ORIGIN, 0
#define TRANSFER_Get 0, ORIGIN
#define TRANSFER_Accumulate UNLESS_NO_OP(ORIGIN), 0
#define TRANSFER_Get_accumulate UNLESS_NO_OP(ORIGIN), RESULT
#define TRANSFER_Fetch_and_op UNLESS_NO_OP(ONE), ONE
#define TRANSFER_Compare_and_swap 2 * ONE, ONE /* the new value and the one to compare with */

#define TRANSFER(entry, name, call, base)                                                                    \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_LIKELY(result == MPI_SUCCESS && target_rank != MPI_PROC_NULL))                                \
            record_transfer(thread, call, target_rank, win, (struct transfer){TRANSFER_##base});             \
        if (RW_UNLIKELY(thread->traced))                                                                     \
            rw_trace_plain(thread, call, begin, end);                                                        \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define TRANSFERS(name, call, base, large, parameters)                                                       \
    TRANSFER(mpi, name, call, base) TRANSFER(pmpi, name, call, base)
RW_CALLS_transfer(TRANSFERS)

/* Forgotten before the call, as afterwards another thread may already have the handle again; also inside
 * other calls. */
#define FREE_WINDOW(entry, name)                                                                             \
    RW_SIGNATURE(entry, name) {                                                                              \
        rw_window_freed(*win);                                                                               \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (RW_UNLIKELY(thread->traced))                                                                     \
            rw_trace_plain(thread, RW_CALL_##name, begin, end);                                              \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
FREE_WINDOW(mpi, Win_free) FREE_WINDOW(pmpi, Win_free)
