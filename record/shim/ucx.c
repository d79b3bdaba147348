/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's functions (libucp), counted as shim/transports.h says.
 *
 * The declarations are those of ucp/api/ucp.h and ucp_compat.h of UCX 1.8 to 1.20, whose ABI is one
 * (libucp.so.0); functions that an older library lacks are not looked for by its callers. A peer is known by
 * the first 9 bytes of its worker's address: in them is the worker's random 64-bit uuid
 * (src/ucp/wireup/address.c), whatever follows.
 */
#include "shim/transports.h"

#define EXPORT __attribute__((visibility("default")))
enum { ADDRESS_BYTES = 9 };

typedef signed char status; /* ucs_status_t is a packed enum */
typedef void *request;      /* ucs_status_ptr_t: NULL, a request, or an error */
typedef uint64_t datatype;

/* The beginnings of ucp_request_param_t, ucp_ep_params_t, ucp_worker_attr_t; of ucp_dt_iov_t all. */
struct parameters {
    uint32_t fields;
    uint32_t flags;
    void *request;
    void (*callback)(void);
    datatype datatype;
};
enum { FIELD_DATATYPE = 1 << 3 };
struct endpoint_parameters {
    uint64_t fields;
    const void *address;
};
enum { FIELD_REMOTE_ADDRESS = 1 << 0 };
struct worker_attributes {
    uint64_t fields;
    int thread_mode;
    uint32_t address_flags;
    void *address;
    size_t address_bytes;
};
enum { FIELD_ADDRESS = 1 << 1 };
struct piece {
    void *buffer;
    size_t bytes;
};

/* ucp_dt_type; bytes of an element are above its three bits, if it is contiguous. */
enum { CONTIGUOUS = 0, PIECES = 2, CLASS_BITS = 3, CLASS_MASK = 7 };

static uint64_t size_of(const void *buffer, size_t count, datatype type) {
    if ((type & CLASS_MASK) == CONTIGUOUS)
        return count * (type >> CLASS_BITS);
    if ((type & CLASS_MASK) != PIECES)
        return RW_UNSIZED; /* a generic one: its owner packs it */
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += ((const struct piece *)buffer)[i].bytes;
    return bytes;
}

static uint64_t size_with(const void *buffer, size_t count, const struct parameters *parameters) {
    return parameters->fields & FIELD_DATATYPE ? size_of(buffer, count, parameters->datatype) : count;
}

static int failed(request done) {
    return (uintptr_t)done >= (uintptr_t)-100; /* UCS_PTR_IS_ERR */
}

#define MOVED(kind) (failed(done) ? RW_NETWORK_PROGRESS : RW_NETWORK_##kind)
#define MOVED_OR_NOT(kind) (done < 0 ? RW_NETWORK_PROGRESS : RW_NETWORK_##kind)
#define HAPPENED(something) ((something) ? RW_NETWORK_PROGRESS : RW_NETWORK_WAIT)

/*
 * Result, name, parameters, arguments, handle of the peer (NULL where the call does not say it), kind and
 * bytes; the last two may look at the result `done`. What a receive by tag will get is not known when it
 * begins.
 */
#define CALLS(X)                                                                                             \
    X(request, ucp_tag_send_nb,                                                                              \
      (void *ep, const void *buffer, size_t count, datatype type, uint64_t tag, void *callback),             \
      (ep, buffer, count, type, tag, callback), ep, MOVED(SEND), size_of(buffer, count, type))               \
    X(status, ucp_tag_send_nbr,                                                                              \
      (void *ep, const void *buffer, size_t count, datatype type, uint64_t tag, void *into),                 \
      (ep, buffer, count, type, tag, into), ep, MOVED_OR_NOT(SEND), size_of(buffer, count, type))            \
    X(request, ucp_tag_send_sync_nb,                                                                         \
      (void *ep, const void *buffer, size_t count, datatype type, uint64_t tag, void *callback),             \
      (ep, buffer, count, type, tag, callback), ep, MOVED(SEND), size_of(buffer, count, type))               \
    X(request, ucp_tag_send_nbx,                                                                             \
      (void *ep, const void *buffer, size_t count, uint64_t tag, const struct parameters *with),             \
      (ep, buffer, count, tag, with), ep, MOVED(SEND), size_with(buffer, count, with))                       \
    X(request, ucp_tag_send_sync_nbx,                                                                        \
      (void *ep, const void *buffer, size_t count, uint64_t tag, const struct parameters *with),             \
      (ep, buffer, count, tag, with), ep, MOVED(SEND), size_with(buffer, count, with))                       \
    X(request, ucp_am_send_nb,                                                                               \
      (void *ep, uint16_t id, const void *buffer, size_t count, datatype type, void *callback,               \
       unsigned flags),                                                                                      \
      (ep, id, buffer, count, type, callback, flags), ep, MOVED(SEND), size_of(buffer, count, type))         \
    X(request, ucp_am_send_nbx,                                                                              \
      (void *ep, unsigned id, const void *header, size_t header_bytes, const void *buffer, size_t count,     \
       const struct parameters *with),                                                                       \
      (ep, id, header, header_bytes, buffer, count, with), ep, MOVED(SEND),                                  \
      with_header(header_bytes, size_with(buffer, count, with)))                                             \
    X(request, ucp_stream_send_nb,                                                                           \
      (void *ep, const void *buffer, size_t count, datatype type, void *callback, unsigned flags),           \
      (ep, buffer, count, type, callback, flags), ep, MOVED(SEND), size_of(buffer, count, type))             \
    X(request, ucp_stream_send_nbx,                                                                          \
      (void *ep, const void *buffer, size_t count, const struct parameters *with),                           \
      (ep, buffer, count, with), ep, MOVED(SEND), size_with(buffer, count, with))                            \
    X(status, ucp_put, (void *ep, const void *buffer, size_t bytes, uint64_t to, void *key),                 \
      (ep, buffer, bytes, to, key), ep, MOVED_OR_NOT(SEND), bytes)                                           \
    X(status, ucp_put_nbi, (void *ep, const void *buffer, size_t bytes, uint64_t to, void *key),             \
      (ep, buffer, bytes, to, key), ep, MOVED_OR_NOT(SEND), bytes)                                           \
    X(request, ucp_put_nb,                                                                                   \
      (void *ep, const void *buffer, size_t bytes, uint64_t to, void *key, void *callback),                  \
      (ep, buffer, bytes, to, key, callback), ep, MOVED(SEND), bytes)                                        \
    X(request, ucp_put_nbx,                                                                                  \
      (void *ep, const void *buffer, size_t count, uint64_t to, void *key, const struct parameters *with),   \
      (ep, buffer, count, to, key, with), ep, MOVED(SEND), size_with(buffer, count, with))                   \
    X(status, ucp_get, (void *ep, void *buffer, size_t bytes, uint64_t from, void *key),                     \
      (ep, buffer, bytes, from, key), ep, MOVED_OR_NOT(RECEIVE), bytes)                                      \
    X(status, ucp_get_nbi, (void *ep, void *buffer, size_t bytes, uint64_t from, void *key),                 \
      (ep, buffer, bytes, from, key), ep, MOVED_OR_NOT(RECEIVE), bytes)                                      \
    X(request, ucp_get_nb, (void *ep, void *buffer, size_t bytes, uint64_t from, void *key, void *callback), \
      (ep, buffer, bytes, from, key, callback), ep, MOVED(RECEIVE), bytes)                                   \
    X(request, ucp_get_nbx,                                                                                  \
      (void *ep, void *buffer, size_t count, uint64_t from, void *key, const struct parameters *with),       \
      (ep, buffer, count, from, key, with), ep, MOVED(RECEIVE), size_with(buffer, count, with))              \
    X(status, ucp_atomic_post,                                                                               \
      (void *ep, int operation, uint64_t value, size_t bytes, uint64_t to, void *key),                       \
      (ep, operation, value, bytes, to, key), ep, MOVED_OR_NOT(SEND), bytes)                                 \
    X(request, ucp_atomic_fetch_nb,                                                                          \
      (void *ep, int operation, uint64_t value, void *result, size_t bytes, uint64_t to, void *key,          \
       void *callback),                                                                                      \
      (ep, operation, value, result, bytes, to, key, callback), ep, MOVED(SEND), bytes)                      \
    X(request, ucp_atomic_op_nbx,                                                                            \
      (void *ep, int operation, const void *buffer, size_t count, uint64_t to, void *key,                    \
       const struct parameters *with),                                                                       \
      (ep, operation, buffer, count, to, key, with), ep, MOVED(SEND), size_with(buffer, count, with))        \
    X(request, ucp_tag_recv_nb,                                                                              \
      (void *worker, void *buffer, size_t count, datatype type, uint64_t tag, uint64_t mask,                 \
       void *callback),                                                                                      \
      (worker, buffer, count, type, tag, mask, callback), NULL, MOVED(RECEIVE), RW_UNSIZED)                  \
    X(status, ucp_tag_recv_nbr,                                                                              \
      (void *worker, void *buffer, size_t count, datatype type, uint64_t tag, uint64_t mask, void *into),    \
      (worker, buffer, count, type, tag, mask, into), NULL, MOVED_OR_NOT(RECEIVE), RW_UNSIZED)               \
    X(request, ucp_tag_recv_nbx,                                                                             \
      (void *worker, void *buffer, size_t count, uint64_t tag, uint64_t mask,                                \
       const struct parameters *with),                                                                       \
      (worker, buffer, count, tag, mask, with), NULL, MOVED(RECEIVE), RW_UNSIZED)                            \
    X(request, ucp_tag_msg_recv_nb,                                                                          \
      (void *worker, void *buffer, size_t count, datatype type, void *message, void *callback),              \
      (worker, buffer, count, type, message, callback), NULL, MOVED(RECEIVE), RW_UNSIZED)                    \
    X(request, ucp_tag_msg_recv_nbx,                                                                         \
      (void *worker, void *buffer, size_t count, void *message, const struct parameters *with),              \
      (worker, buffer, count, message, with), NULL, MOVED(RECEIVE), RW_UNSIZED)                              \
    X(request, ucp_am_recv_data_nbx,                                                                         \
      (void *worker, void *data, void *buffer, size_t count, const struct parameters *with),                 \
      (worker, data, buffer, count, with), NULL, MOVED(RECEIVE), size_with(buffer, count, with))             \
    X(request, ucp_stream_recv_nb,                                                                           \
      (void *ep, void *buffer, size_t count, datatype type, void *callback, size_t *got, unsigned flags),    \
      (ep, buffer, count, type, callback, got, flags), ep, MOVED(RECEIVE), done ? RW_UNSIZED : *got)         \
    X(request, ucp_stream_recv_nbx,                                                                          \
      (void *ep, void *buffer, size_t count, size_t *got, const struct parameters *with),                    \
      (ep, buffer, count, got, with), ep, MOVED(RECEIVE), done ? RW_UNSIZED : *got)                          \
    X(request, ucp_tag_probe_nb, (void *worker, uint64_t tag, uint64_t mask, int remove, void *about),       \
      (worker, tag, mask, remove, about), NULL, HAPPENED(done), 0)                                           \
    X(unsigned, ucp_worker_progress, (void *worker), (worker), NULL, HAPPENED(done), 0)                      \
    X(status, ucp_worker_wait, (void *worker), (worker), NULL, RW_NETWORK_WAIT, 0)                           \
    X(status, ucp_worker_flush, (void *worker), (worker), NULL, RW_NETWORK_WAIT, 0)                          \
    X(request, ucp_worker_flush_nb, (void *worker, unsigned flags, void *callback),                          \
      (worker, flags, callback), NULL, RW_NETWORK_PROGRESS, 0)                                               \
    X(request, ucp_worker_flush_nbx, (void *worker, const struct parameters *with), (worker, with), NULL,    \
      RW_NETWORK_PROGRESS, 0)                                                                                \
    X(status, ucp_ep_flush, (void *ep), (ep), ep, RW_NETWORK_WAIT, 0)                                        \
    X(request, ucp_ep_flush_nb, (void *ep, unsigned flags, void *callback), (ep, flags, callback), ep,       \
      RW_NETWORK_PROGRESS, 0)                                                                                \
    X(request, ucp_ep_flush_nbx, (void *ep, const struct parameters *with), (ep, with), ep,                  \
      RW_NETWORK_PROGRESS, 0)

/* Those that are looked at for addresses alone. */
#define ADDRESSES(X)                                                                                         \
    X(ucp_worker_get_address, (void *worker, void **address, size_t *bytes), (worker, address, bytes))       \
    X(ucp_worker_query, (void *worker, struct worker_attributes *attributes), (worker, attributes))          \
    X(ucp_ep_create, (void *worker, const struct endpoint_parameters *with, void **ep), (worker, with, ep))

#define NUMBER(result, name, parameters, arguments, peer, kind, bytes) number_##name,
#define NUMBER_OF_ADDRESS(name, parameters, arguments) number_##name,
enum { CALLS(NUMBER) ADDRESSES(NUMBER_OF_ADDRESS) FUNCTIONS };
#define NAME(result, name, parameters, arguments, peer, kind, bytes) #name,
#define NAME_OF_ADDRESS(name, parameters, arguments) #name,
static const char *const names[] = {CALLS(NAME) ADDRESSES(NAME_OF_ADDRESS)};

static rw_any_function next[RW_TRANSPORT_CALLERS * FUNCTIONS];
static struct rw_transport_library ucx = {
    .file = "libucp.so", .names = names, .functions = FUNCTIONS, .next = next};

static uint64_t with_header(uint64_t header, uint64_t bytes) {
    return bytes == RW_UNSIZED ? bytes : header + bytes;
}

/* As MPI's functions (shim.c): bound by the loader, not found by dlsym. */
#define VERSIONED(name) __asm__(".symver rw_" #name ", " #name "@RANKWISE_1");
#define NEXT(name)                                                                                           \
    ((__typeof__(&rw_##name))rw_transport_next(&ucx, number_##name, __builtin_return_address(0), &outer))

#define DEFINE(result, name, parameters, arguments, peer, kind, bytes)                                       \
    EXPORT result rw_##name parameters {                                                                     \
        int outer;                                                                                           \
        result(*const on) parameters = NEXT(name);                                                           \
        if (!outer || !rw_transport_counts())                                                                \
            return on arguments;                                                                             \
        const uint64_t begin = rw_transport_enter();                                                         \
        const result done = on arguments;                                                                    \
        const int as = kind;                                                                                 \
        const int moved = as == RW_NETWORK_SEND || as == RW_NETWORK_RECEIVE;                                 \
        rw_transport_leave(RW_TRANSPORT_UCX, (uintptr_t)(peer), as, moved ? (bytes) : 0, begin);             \
        return done;                                                                                         \
    }                                                                                                        \
    VERSIONED(name)
CALLS(DEFINE)

EXPORT status rw_ucp_worker_get_address(void *worker, void **address, size_t *bytes) {
    int outer;
    const status done = NEXT(ucp_worker_get_address)(worker, address, bytes);
    if (done == 0 && *bytes >= ADDRESS_BYTES)
        rw_transport_own(RW_TRANSPORT_UCX, *address, ADDRESS_BYTES);
    return done;
}
VERSIONED(ucp_worker_get_address)

EXPORT status rw_ucp_worker_query(void *worker, struct worker_attributes *attributes) {
    int outer;
    const status done = NEXT(ucp_worker_query)(worker, attributes);
    if (done == 0 && attributes->fields & FIELD_ADDRESS && attributes->address_bytes >= ADDRESS_BYTES)
        rw_transport_own(RW_TRANSPORT_UCX, attributes->address, ADDRESS_BYTES);
    return done;
}
VERSIONED(ucp_worker_query)

EXPORT status rw_ucp_ep_create(void *worker, const struct endpoint_parameters *with, void **ep) {
    int outer;
    const status done = NEXT(ucp_ep_create)(worker, with, ep);
    if (done == 0)
        rw_transport_learn((uintptr_t)*ep, with->address,
                           with->fields & FIELD_REMOTE_ADDRESS ? ADDRESS_BYTES : 0);
    return done;
}
VERSIONED(ucp_ep_create)
