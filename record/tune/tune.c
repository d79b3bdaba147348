/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The light mode: behind the shim, in place of a recorder. All functions have a wrapper that counts and now
 * and then times (plain.c); those that send count their messages, too.
 */
#include <string.h>

#include "tune/page.h"
#include "tune/peers.h"
#include "tune/progress.h"
#include "tune/wrapper.h"

#define COUNT(large, value) ((large) ? (int64_t)(value) : (int64_t)(int)(value))
#define SENDS(name, call, base, large, parameters)                                                           \
    WRAPPERS(send_##name, call, parameters, parameters, RW_WAITS_##name,                                     \
             rw_tune_count_message(COUNT(large, a1), (MPI_Datatype)a2, (int)a3, (MPI_Comm)a5))
RW_CALLS_send(SENDS)
RW_CALLS_isend(SENDS)

/* Where the communicator is, by the number of parameters: with two buffers or one. */
#define COMMUNICATOR_OF_12 a10
#define COMMUNICATOR_OF_9 a7
#define EXCHANGES(name, call, base, large, parameters)                                                       \
    WRAPPERS(send_##name, call, parameters, parameters, RW_WAITS_##name,                                     \
             rw_tune_count_message(COUNT(large, a1), (MPI_Datatype)a2, (int)a3,                              \
                                   (MPI_Comm)COMMUNICATOR_OF_##parameters))
RW_CALLS_sendrecv(EXCHANGES)
RW_CALLS_isendrecv(EXCHANGES)

#define PREPARES_SEND(name, call, base, large, parameters)                                                   \
    WRAPPERS(send_##name, call, parameters, parameters, RW_WAITS_##name,                                     \
             rw_tune_note_persistent(*(MPI_Request *)a6, COUNT(large, a1), (MPI_Datatype)a2, (int)a3,        \
                                     (MPI_Comm)a5))
RW_CALLS_send_init(PREPARES_SEND)

/* A freed handle may be another one's next. */
#define FREES_AS(entry, prefix, name, forget, type)                                                          \
    static intptr_t prefix##_send_##name(intptr_t handle) {                                                  \
        if (rw_page)                                                                                         \
            forget(*(type *)handle);                                                                         \
        return ((intptr_t (*)(intptr_t))rw_tune_plain[entry][RW_CALL_##name])(handle);                       \
    }
#define FREES(name, forget, type)                                                                            \
    FREES_AS(RW_MPI, mpi, name, forget, type) FREES_AS(RW_PMPI, pmpi, name, forget, type)
FREES(Request_free, rw_tune_forget_persistent, MPI_Request)
static void count_all_started(intptr_t count, intptr_t requests) {
    for (int at = 0; at < (int)count; at++)
        rw_tune_count_started(((MPI_Request *)requests)[at]);
}
WRAPPERS(send_Start, RW_CALL_Start, 1, 1, RW_WAITS_Start, rw_tune_count_started(*(MPI_Request *)a0))
WRAPPERS(send_Startall, RW_CALL_Startall, 2, 2, RW_WAITS_Startall, count_all_started(a0, a1))

static void count_phase(int level) {
    if (level > 0 && rw_tune_thread.started)
        rw_progress_pcontrol();
}

WRAPPERS(send_Pcontrol, RW_CALL_Pcontrol, 6, RW_PARAMETER_COUNT_Pcontrol, RW_WAITS_Pcontrol,
         count_phase((int)a0))

static void start(int result) {
    if (result != MPI_SUCCESS || rw_page)
        return;
    rw_page_open();
    if (rw_page)
        rw_progress_start();
}

/* The formatter takes what comes behind these lists for a part of them. */
/* clang-format off */
#define FREES_COMMUNICATOR(name, call, base, large, parameters)                                              \
    FREES(name, rw_tune_forget_communicator, MPI_Comm)
RW_CALLS_comm_free(FREES_COMMUNICATOR)
#define FREES_TYPE(name, call, base, large, parameters) FREES(name, rw_tune_forget_type, MPI_Datatype)
RW_CALLS_type_free(FREES_TYPE)

#define STARTS(entry, prefix)                                                                                \
    static intptr_t prefix##_start(intptr_t argc, intptr_t argv) {                                           \
        const intptr_t result = NEXT(entry, RW_CALL_Init, 2)(argc, argv);                                    \
        start((int)result);                                                                                  \
        return result;                                                                                       \
    }                                                                                                        \
    static intptr_t prefix##_start_thread(intptr_t argc, intptr_t argv, intptr_t required,                   \
                                          intptr_t provided) {                                               \
        const intptr_t result = NEXT(entry, RW_CALL_Init_thread, 4)(argc, argv, required, provided);         \
        start((int)result);                                                                                  \
        return result;                                                                                       \
    }                                                                                                        \
    static intptr_t prefix##_end(void) {                                                                     \
        if (rw_page && rw_tune_thread.started)                                                               \
            rw_progress_end();                                                                               \
        rw_page_end();                                                                                       \
        return NEXT(entry, RW_CALL_Finalize, 0)();                                                           \
    }
STARTS(RW_MPI, mpi)
STARTS(RW_PMPI, pmpi)

__attribute__((visibility("default"))) const char *
rankwise_record_attach(uint32_t version, const struct rw_library *library,
                       rw_function slots[RW_ENTRIES][RW_CALL_COUNT]) {
    if (version != RW_ATTACH_VERSION)
        return "the library beside it is of another version";
    const char *const trouble = rw_abi_open(library->handle);
    if (trouble)
        return trouble;
    memcpy(rw_next, library->next, sizeof rw_next);
    rw_page_prepare(library->directory);
    rw_function chosen[RW_ENTRIES][RW_CALL_COUNT];
    memcpy(chosen, rw_tune_plain, sizeof chosen);
#define CHOOSE_AS(prefix, name, call)                                                                        \
    chosen[RW_MPI][call] = (rw_function)mpi_##prefix##name;                                                  \
    chosen[RW_PMPI][call] = (rw_function)pmpi_##prefix##name;
#define CHOOSE_SEND(name, call, base, large, parameters) CHOOSE_AS(send_, name, call)
    RW_CALLS_send(CHOOSE_SEND)
    RW_CALLS_isend(CHOOSE_SEND)
    RW_CALLS_sendrecv(CHOOSE_SEND)
    RW_CALLS_isendrecv(CHOOSE_SEND)
    RW_CALLS_send_init(CHOOSE_SEND)
    RW_CALLS_comm_free(CHOOSE_SEND)
    RW_CALLS_type_free(CHOOSE_SEND)
    CHOOSE_AS(send_, Request_free, RW_CALL_Request_free)
    CHOOSE_AS(send_, Start, RW_CALL_Start)
    CHOOSE_AS(send_, Startall, RW_CALL_Startall)
    CHOOSE_AS(send_, Pcontrol, RW_CALL_Pcontrol)
    CHOOSE_AS(, start, RW_CALL_Init)
    CHOOSE_AS(, start_thread, RW_CALL_Init_thread)
    CHOOSE_AS(, end, RW_CALL_Finalize)
    for (int entry = 0; entry < RW_ENTRIES; entry++)
        for (unsigned call = 0; call < RW_CALL_COUNT; call++)
            if (rw_next[entry][call])
                __atomic_store_n(&slots[entry][call], chosen[entry][call], __ATOMIC_RELEASE);
    return NULL;
}
