/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all wrappers have in common. Every function X has two, rw_mpi_X and rw_pmpi_X, which continue with the
 * next MPI_X and the next PMPI_X, so that a program's own profiling tool keeps working in between.
 */
#ifndef RANKWISE_RECORD_WRAP_H
#define RANKWISE_RECORD_WRAP_H

#include "calls_generated.h"
#include "process/next.h"
#include "thread/current.h"
#include "wrap/call.h"

#define RW_ENTRY_mpi RW_MPI
#define RW_ENTRY_pmpi RW_PMPI

/* The function behind the wrapper `entry`_`name`, called with the wrapper's own arguments. */
#define RW_CONTINUE(entry, name)                                                                             \
    (((int (*)(RW_PARAMETERS_##name))rw_next[RW_ENTRY_##entry][RW_CALL_##name])(RW_ARGUMENTS_##name))

#define RW_SIGNATURE(entry, name) RW_HIDDEN int rw_##entry##_##name(RW_PARAMETERS_##name)

/*
 * Open a wrapper: `thread` and `begin` are set, or the call was nested and is over. Close it with RW_DONE
 * once everything is recorded: what the recorder asks of the library counts as nested too.
 */
#define RW_BEGIN(entry, name)                                                                                \
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);                                           \
    struct rw_thread *const thread = rw_current();                                                           \
    if (RW_UNLIKELY(rw_nested(thread, frame, RW_PARAMETER_COUNT_##name)))                                    \
        return RW_CONTINUE(entry, name);                                                                     \
    const uint64_t begin = rw_enter(thread, frame);                                                          \
    if (RW_WAITS_##name)                                                                                     \
    rw_note_progress(thread, RW_CALL_##name, begin)

#define RW_CALLED(name)                                                                                      \
    const uint64_t end = rw_leave(thread, RW_CALL_##name, begin);                                            \
    if (RW_WAITS_##name)                                                                                     \
    rw_clear_progress(thread)
#define RW_DONE rw_done(thread, end)

#endif
