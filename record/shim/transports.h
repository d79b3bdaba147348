/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network time of transports that are libraries of their own: what ucx.c, libfabric.c and psm2.c share. Each
 * stands before its library's functions in every process that the shim is preloaded into, and hands every
 * call on.
 *
 * Counting is as in sockets.c: nothing is allocated and nothing waits once a caller is known. A call inside
 * another one of these, or a socket call inside one, adds calls and bytes; time is the outermost's alone.
 */
#ifndef RANKWISE_RECORD_TRANSPORTS_H
#define RANKWISE_RECORD_TRANSPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "network/network.h"
#include "process/ticks.h"

#define RW_SHIM_HIDDEN __attribute__((visibility("hidden")))

/* What is counted into; shims that record nothing are built without it. */
extern RW_SHIM_HIDDEN struct rw_network rw_shim_network;

/* How many counted calls of transports this thread is inside of. */
extern RW_SHIM_HIDDEN __thread unsigned rw_transport_depth __attribute__((tls_model("initial-exec")));

typedef void (*rw_any_function)(void);

/* An object whose calls came through here, and what they would have reached without the shim. */
struct rw_transport_caller {
    uintptr_t begin;
    uintptr_t bytes;
    int is_library; /* the library itself: its calls of its own functions are not counted */
    rw_any_function *next;
};

enum { RW_TRANSPORT_CALLERS = 8 };

struct rw_transport_library {
    const char *file; /* how the names of its files begin */
    const char *const *names;
    unsigned functions;
    rw_any_function *next; /* RW_TRANSPORT_CALLERS times `functions` */
    int lock;
    unsigned callers;
    struct rw_transport_caller caller[RW_TRANSPORT_CALLERS];
};

/** @brief As rw_transport_next, where the caller is not the first one that was seen. */
RW_SHIM_HIDDEN rw_any_function rw_transport_find(struct rw_transport_library *library, unsigned function,
                                                 const void *caller, int *outer);

/**
 * @brief The function that a call would have reached without the shim.
 * @param caller  where the call comes from
 * @param outer  whether the call is not one of the library's own functions, nor of this shim
 */
static inline rw_any_function rw_transport_next(struct rw_transport_library *library, unsigned function,
                                                const void *caller, int *outer) {
    const struct rw_transport_caller *first = library->caller;
    if (__atomic_load_n(&library->callers, __ATOMIC_ACQUIRE) &&
        (uintptr_t)caller - first->begin < first->bytes && first->next[function]) {
        *outer = !first->is_library;
        return first->next[function];
    }
    return rw_transport_find(library, function, caller, outer);
}

static inline int rw_transport_counts(void) {
    return __atomic_load_n(&rw_shim_network.on, __ATOMIC_ACQUIRE);
}

/* Begin a counted call. */
static inline uint64_t rw_transport_enter(void) {
    rw_transport_depth++;
    return rw_ticks();
}

/* Its size is not known. */
#define RW_UNSIZED UINT64_MAX

/**
 * @brief End a counted call.
 * @param key   what rw_transport_learn was told of the peer; 0 for none
 * @param kind  enum rw_network_kind
 * @param begin what rw_transport_enter gave
 */
RW_SHIM_HIDDEN void rw_transport_leave(enum rw_transport transport, uint64_t key, int kind, uint64_t bytes,
                                       uint64_t begin);

/** @brief Calls with this key (a handle; not 0) go to the peer of this address from now on; `size` 0: not
 * known. */
RW_SHIM_HIDDEN void rw_transport_learn(uint64_t key, const void *address, size_t size);

/** @brief An address of this process. */
RW_SHIM_HIDDEN void rw_transport_own(enum rw_transport transport, const void *address, size_t size);

#endif
