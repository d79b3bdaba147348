/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSM2's functions (libpsm2, Omni-Path), counted as shim/transports.h says.
 *
 * The declarations are those of psm2.h and psm2_mq.h of PSM2 11. A peer is known by its endpoint's 64-bit
 * identity (epid), which psm2_ep_open gives to itself and others give to psm2_ep_connect.
 */
#include "shim/transports.h"

#define EXPORT __attribute__((visibility("default")))

typedef int result; /* psm2_error_t */
enum { OK = 0 };

#define MOVED(kind) (done == OK ? RW_NETWORK_##kind : RW_NETWORK_PROGRESS)
#define HAPPENED (done == OK ? RW_NETWORK_PROGRESS : RW_NETWORK_WAIT)

/* Name, parameters, arguments, handle of the peer (NULL where the call does not say it), kind and bytes. */
#define CALLS(X)                                                                                             \
    X(psm2_mq_send, (void *mq, void *to, uint32_t flags, uint64_t tag, const void *from, uint32_t bytes),    \
      (mq, to, flags, tag, from, bytes), to, MOVED(SEND), bytes)                                             \
    X(psm2_mq_send2, (void *mq, void *to, uint32_t flags, void *tag, const void *from, uint32_t bytes),      \
      (mq, to, flags, tag, from, bytes), to, MOVED(SEND), bytes)                                             \
    X(psm2_mq_isend,                                                                                         \
      (void *mq, void *to, uint32_t flags, uint64_t tag, const void *from, uint32_t bytes, void *context,    \
       void *request),                                                                                       \
      (mq, to, flags, tag, from, bytes, context, request), to, MOVED(SEND), bytes)                           \
    X(psm2_mq_isend2,                                                                                        \
      (void *mq, void *to, uint32_t flags, void *tag, const void *from, uint32_t bytes, void *context,       \
       void *request),                                                                                       \
      (mq, to, flags, tag, from, bytes, context, request), to, MOVED(SEND), bytes)                           \
    X(psm2_mq_irecv,                                                                                         \
      (void *mq, uint64_t tag, uint64_t mask, uint32_t flags, void *to, uint32_t bytes, void *context,       \
       void *request),                                                                                       \
      (mq, tag, mask, flags, to, bytes, context, request), NULL, MOVED(RECEIVE), RW_UNSIZED)                 \
    X(psm2_mq_irecv2,                                                                                        \
      (void *mq, void *from, void *tag, void *mask, uint32_t flags, void *to, uint32_t bytes, void *context, \
       void *request),                                                                                       \
      (mq, from, tag, mask, flags, to, bytes, context, request), from, MOVED(RECEIVE), RW_UNSIZED)           \
    X(psm2_mq_imrecv, (void *mq, uint32_t flags, void *to, uint32_t bytes, void *context, void *request),    \
      (mq, flags, to, bytes, context, request), NULL, MOVED(RECEIVE), RW_UNSIZED)                            \
    X(psm2_mq_iprobe, (void *mq, uint64_t tag, uint64_t mask, void *status), (mq, tag, mask, status), NULL,  \
      HAPPENED, 0)                                                                                           \
    X(psm2_mq_iprobe2, (void *mq, void *from, void *tag, void *mask, void *status),                          \
      (mq, from, tag, mask, status), NULL, HAPPENED, 0)                                                      \
    X(psm2_mq_improbe, (void *mq, uint64_t tag, uint64_t mask, void *request, void *status),                 \
      (mq, tag, mask, request, status), NULL, HAPPENED, 0)                                                   \
    X(psm2_mq_improbe2, (void *mq, void *from, void *tag, void *mask, void *request, void *status),          \
      (mq, from, tag, mask, request, status), NULL, HAPPENED, 0)                                             \
    X(psm2_mq_ipeek, (void *mq, void *request, void *status), (mq, request, status), NULL, HAPPENED, 0)      \
    X(psm2_mq_ipeek2, (void *mq, void *request, void *status), (mq, request, status), NULL, HAPPENED, 0)     \
    X(psm2_mq_ipeek_dequeue, (void *mq, void *request), (mq, request), NULL, HAPPENED, 0)                    \
    X(psm2_mq_ipeek_dequeue_multi, (void *mq, void *statuses, void *copy, int *count),                       \
      (mq, statuses, copy, count), NULL, HAPPENED, 0)                                                        \
    X(psm2_mq_test, (void *request, void *status), (request, status), NULL, HAPPENED, 0)                     \
    X(psm2_mq_test2, (void *request, void *status), (request, status), NULL, HAPPENED, 0)                    \
    X(psm2_mq_wait, (void *request, void *status), (request, status), NULL, RW_NETWORK_WAIT, 0)              \
    X(psm2_mq_wait2, (void *request, void *status), (request, status), NULL, RW_NETWORK_WAIT, 0)             \
    X(psm2_poll, (void *endpoint), (endpoint), NULL, HAPPENED, 0)

#define NUMBER(name, parameters, arguments, peer, kind, bytes) number_##name,
enum { CALLS(NUMBER) number_psm2_ep_open, number_psm2_ep_connect, FUNCTIONS };
#define NAME(name, parameters, arguments, peer, kind, bytes) #name,
static const char *const names[] = {CALLS(NAME) "psm2_ep_open", "psm2_ep_connect"};

static rw_any_function next[RW_TRANSPORT_CALLERS * FUNCTIONS];
static struct rw_transport_library psm2 = {
    .file = "libpsm2.so", .names = names, .functions = FUNCTIONS, .next = next};

/* As the library's own, whose callers ask for its version, and without one (as shim.c). */
#define VERSIONED(name)                                                                                      \
    extern EXPORT __typeof__(rw_##name) rw_any_##name __attribute__((alias("rw_" #name)));                   \
    __asm__(".symver rw_" #name ", " #name "@PSM2_1.0");                                                     \
    __asm__(".symver rw_any_" #name ", " #name "@RANKWISE_1");
#define NEXT(name)                                                                                           \
    ((__typeof__(&rw_##name))rw_transport_next(&psm2, number_##name, __builtin_return_address(0), &outer))

#define DEFINE(name, parameters, arguments, peer, kind, bytes)                                               \
    EXPORT result rw_##name parameters {                                                                     \
        int outer;                                                                                           \
        result(*const on) parameters = NEXT(name);                                                           \
        if (!outer || !rw_transport_counts())                                                                \
            return on arguments;                                                                             \
        const uint64_t begin = rw_transport_enter();                                                         \
        const result done = on arguments;                                                                    \
        const int as = kind;                                                                                 \
        const int moved = as == RW_NETWORK_SEND || as == RW_NETWORK_RECEIVE;                                 \
        rw_transport_leave(RW_TRANSPORT_PSM2, (uintptr_t)(peer), as, moved ? (bytes) : 0, begin);            \
        return done;                                                                                         \
    }                                                                                                        \
    VERSIONED(name)
CALLS(DEFINE)

EXPORT result rw_psm2_ep_open(const void *job, const void *options, void **endpoint, uint64_t *identity) {
    int outer;
    const result done = NEXT(psm2_ep_open)(job, options, endpoint, identity);
    if (done == OK)
        rw_transport_own(RW_TRANSPORT_PSM2, identity, sizeof *identity);
    return done;
}
VERSIONED(psm2_ep_open)

EXPORT result rw_psm2_ep_connect(void *endpoint, int count, const uint64_t *identities, const int *chosen,
                                 result *errors, void **addresses, int64_t timeout) {
    int outer;
    const result done =
        NEXT(psm2_ep_connect)(endpoint, count, identities, chosen, errors, addresses, timeout);
    for (int i = 0; i < count; i++)
        if ((!chosen || chosen[i]) && errors[i] == OK)
            rw_transport_learn((uintptr_t)addresses[i], &identities[i], sizeof identities[i]);
    return done;
}
VERSIONED(psm2_ep_connect)
