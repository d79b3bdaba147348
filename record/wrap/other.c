/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are only counted and timed, whatever their arguments mean. */
#include "process/process.h"
#include "thread/current.h"
#include "trace/trace.h"
#include "wrap/wrap.h"

/* What all of them do before and after: out of line, as there are over a thousand. */
static __attribute__((noinline)) uint64_t entered(struct rw_thread *thread, uintptr_t frame, unsigned call,
                                                  int waits) {
    const uint64_t begin = rw_enter(thread, frame);
    if (waits)
        rw_note_progress(thread, call, begin);
    return begin;
}

static __attribute__((noinline)) void left(struct rw_thread *thread, unsigned call, int waits,
                                           uint64_t begin) {
    const uint64_t end = rw_leave(thread, call, begin);
    if (waits)
        rw_clear_progress(thread);
    if (RW_UNLIKELY(thread->traced))
        rw_trace_plain(thread, call, begin, end);
    rw_done(thread, end);
}

#define GENERIC_ENTRY(entry, name, call, parameters)                                                         \
    RW_HIDDEN intptr_t rw_##entry##_##name(RW_NEUTRAL_PARAMETERS_##parameters) {                             \
        intptr_t (*const next)(RW_NEUTRAL_TYPES_##parameters) =                                              \
            (intptr_t (*)(RW_NEUTRAL_TYPES_##parameters))rw_next[RW_ENTRY_##entry][call];                    \
        const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);                                       \
        struct rw_thread *const thread = rw_current();                                                       \
        if (RW_UNLIKELY(rw_nested(thread, frame, parameters)))                                               \
            return next(RW_NEUTRAL_ARGUMENTS_##parameters);                                                  \
        const uint64_t begin = entered(thread, frame, call, RW_WAITS_##name);                                \
        const intptr_t result = next(RW_NEUTRAL_ARGUMENTS_##parameters);                                     \
        left(thread, call, RW_WAITS_##name, begin);                                                          \
        return result;                                                                                       \
    }
#define GENERIC(name, call, base, large, parameters)                                                         \
    GENERIC_ENTRY(mpi, name, call, parameters)                                                               \
    GENERIC_ENTRY(pmpi, name, call, parameters)
RW_CALLS_generic(GENERIC)
