/* SPDX-License-Identifier: BSD-3-Clause */
/* What all wrappers of the light mode do: count the call, and now and then time it. */
#ifndef RANKWISE_RECORD_TUNE_WRAPPER_H
#define RANKWISE_RECORD_TUNE_WRAPPER_H

#include <string.h>

#include "tune/page.h"
#include "tune/progress.h"

/* Wrappers that do no more than that, of all functions. */
extern const rw_function rw_tune_plain[RW_ENTRIES][RW_CALL_COUNT] RW_HIDDEN;

/* Whether a function only asks: such calls repeat as often as there is time for them. The compiler knows. */
static inline __attribute__((always_inline)) int only_asks(const char *name) {
    return strncmp(name, "Test", 4) == 0 || strncmp(name, "Iprobe", 6) == 0 ||
           strncmp(name, "Improbe", 7) == 0 || strncmp(name, "Request_get_status", 18) == 0 ||
           strncmp(name, "Parrived", 8) == 0 || strncmp(name, "Win_test", 8) == 0 ||
           strncmp(name, "Wtime", 5) == 0;
}

#define NEXT(entry, call, parameters) ((intptr_t (*)(RW_NEUTRAL_TYPES_##parameters))rw_next[entry][call])

/* Parameters beyond these are passed on the stack. */
#if defined(__x86_64__)
#define RW_REGISTER_PARAMETERS 6
#else
#define RW_REGISTER_PARAMETERS 8
#endif
#define STACKED(parameters)                                                                                  \
    ((parameters) > RW_REGISTER_PARAMETERS ? (parameters) - RW_REGISTER_PARAMETERS : 0)

/* Whether the call counts: it does not come from inside another one (see rw_nested of wrap/call.h). */
static inline int counts(uintptr_t frame, unsigned parameters) {
    const uintptr_t busy = rw_tune_thread.busy;
    return RW_LIKELY(rw_page != NULL) && !(busy && frame + sizeof(uintptr_t) * STACKED(parameters) < busy);
}

#define BODY(entry, name, call, arguments, parameters, waits, done)                                          \
    {                                                                                                        \
        const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);                                       \
        if (!counts(frame, parameters))                                                                      \
            return NEXT(entry, call, arguments)(RW_NEUTRAL_ARGUMENTS_##arguments);                           \
        const struct rw_tune_call visit =                                                                    \
            rw_tune_begin(frame, (uintptr_t)__builtin_return_address(0) * 4096 + (call), waits);             \
        const intptr_t result = NEXT(entry, call, arguments)(RW_NEUTRAL_ARGUMENTS_##arguments);              \
        done;                                                                                                \
        rw_tune_end(visit, waits, only_asks(#name));                                                         \
        return result;                                                                                       \
    }
#define WRAPPERS(name, call, arguments, parameters, waits, done)                                             \
    static intptr_t mpi_##name(RW_NEUTRAL_PARAMETERS_##arguments)                                            \
        BODY(RW_MPI, name, call, arguments, parameters, waits, done) static intptr_t pmpi_##name(            \
            RW_NEUTRAL_PARAMETERS_##arguments) BODY(RW_PMPI, name, call, arguments, parameters, waits, done)

#endif
