/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning and the end: MPI_Init, MPI_Finalize, MPI_Abort and their kin. */
#include "process/process.h"
#include "lifetime/seals.h"
#include "lifetime/world.h"
#include "process/abi.h"
#include "trace/trace.h"
#include "wrap/wrap.h"

static int thread_level(void) {
    int provided = MPI_THREAD_SINGLE;
    RW_PMPI_CALL(Query_thread, int *)(&provided);
    return provided;
}

#define STARTED_Init rw_world_start(thread, thread_level(), end)
#define STARTED_Init_thread rw_world_start(thread, thread_level(), end)
#define STARTED_Session_init rw_world_start_session(thread, session, end)
#define INIT(entry, name)                                                                                    \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (result == MPI_SUCCESS)                                                                           \
            STARTED_##name;                                                                                  \
        thread->busy = 0;                                                                                    \
        return result;                                                                                       \
    }
#define INITS(name, call, base, large, parameters) INIT(mpi, name) INIT(pmpi, name)
RW_CALLS_init(INITS)

/* The world ends with MPI_Finalize, and where MPI_Init was not called, or that has been, with the last
   session. */
static void finish_world(struct rw_thread *thread, uint64_t now) {
    rw_process.world_model = 0;
    rw_world_finish(thread, now);
}

static void finish_session(struct rw_thread *thread, uint64_t now) {
    if (--rw_process.sessions == 0 && !rw_process.world_model)
        rw_world_finish(thread, now);
}

#define FINISH_Finalize finish_world(thread, begin)
#define FINISH_Session_finalize finish_session(thread, begin)
#define FINALIZE(entry, name)                                                                                \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        FINISH_##name;                                                                                       \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (thread->traced)                                                                                  \
            rw_trace_plain(thread, RW_CALL_##name, begin, end);                                              \
        rw_world_close();                                                                                    \
        thread->busy = 0;                                                                                    \
        return result;                                                                                       \
    }
#define FINALIZES(name, call, base, large, parameters) FINALIZE(mpi, name) FINALIZE(pmpi, name)
RW_CALLS_finalize(FINALIZES)

/* Counted before the call, which does not come back. */
#define ABORT(entry, name)                                                                                   \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        rw_world_abort();                                                                                    \
        RW_CALLED(name);                                                                                     \
        RW_DONE;                                                                                             \
        rw_seal(thread, 0);                                                                                  \
        thread->busy = frame;                                                                                \
        const int result = RW_CONTINUE(entry, name);                                                         \
        thread->busy = 0;                                                                                    \
        return result;                                                                                       \
    }
ABORT(mpi, Abort) ABORT(pmpi, Abort)
