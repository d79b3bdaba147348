/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric's calls, counted as shim/transports.h says.
 *
 * They are inline functions of its headers, that call through tables of functions which each object has
 * pointers to; of symbols there is fi_fabric, which gives the first object. From there on, the tables of
 * objects that count are exchanged for copies in which some functions are ours. A copy is as long as its
 * table says (`size`), entries that a table does not have are not touched, and what is behind a function is
 * looked for in the provider's own table at each call. Objects that the library opens for itself, as
 * providers that are made of others do, keep their tables.
 *
 * The declarations are those of rdma/fabric.h, fi_domain.h, fi_endpoint.h, fi_tagged.h, fi_rma.h, fi_eq.h and
 * fi_cm.h of libfabric 1.1 to 2.5, in which tables only grew. A peer is known by the bytes that fi_getname
 * gave it as its own, and that others gave to fi_av_insert.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "shim/transports.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST_TABLES = 64, MOST_CALLS = 31, MOST_KNOWN = 64 };

/* Any table of functions (struct fi_ops_...). */
struct functions {
    size_t size;
    rw_any_function call[MOST_CALLS];
};

struct object { /* struct fid */
    size_t class;
    void *context;
    struct functions *functions; /* numbers: */
};
enum { BIND = 1, CONTROL = 2 };
enum { CLASS_AV = 11 };

struct opened { /* struct fid_fabric, fid_domain, fid_av, fid_cq, fid_cntr */
    struct object object;
    struct functions *functions;
};
enum { FABRIC_DOMAIN = 0, FABRIC_DOMAIN2 = 5 };
enum {
    DOMAIN_AV = 0,
    DOMAIN_CQ = 1,
    DOMAIN_ENDPOINT = 2,
    DOMAIN_SCALABLE = 3,
    DOMAIN_COUNTER = 4,
    DOMAIN_ENDPOINT2 = 10
};
enum { AV_INSERT = 0 };
enum { CQ_READ = 0, CQ_READFROM = 1, CQ_SREAD = 3, CQ_SREADFROM = 4 };
enum { COUNTER_WAIT = 4 };

struct endpoint { /* struct fid_ep */
    struct object object;
    struct functions *endpoint, *names, *message, *memory, *tagged;
};
enum { TX_CONTEXT = 3, RX_CONTEXT = 4 };
enum { GETNAME = 1 };

struct about { /* the beginning of struct fi_info */
    void *next;
    uint64_t capabilities, mode;
    uint32_t address_format;
};
enum { FORMAT_UNSPECIFIED = 0, FORMAT_TEXT = 9 };

struct message { /* the beginnings of struct fi_msg, fi_msg_tagged, fi_msg_rma */
    const struct iovec *parts;
    void **descriptors;
    size_t count;
    uint64_t address;
};
#define UNSPECIFIED UINT64_MAX
#define PEEK (1ull << 19)

/* A copy, and what it is of: the same table may have other contents when its provider was loaded again. */
static struct table {
    struct functions copy;
    struct functions was;
    const struct functions *original;
    const void *kind;
} tables[MOST_TABLES];
static unsigned tables_used;

/* Endpoints: the address vector that each was bound to, and how long its own address is; 0 where that is not
 * known. */
static struct known {
    const void *endpoint, *av;
    size_t address_bytes;
    int of_length; /* all addresses of its format are as long */
} known[MOST_KNOWN];
static unsigned known_used; /* how many there were; the last MOST_KNOWN are there */
static int lock;

struct exchange {
    int number;
    rw_any_function with;
};

/* Give an object a copy of its table in which what `list` names is exchanged; without room it keeps its own.
 */
static void exchange(struct functions **slot, const struct exchange *list, int length) {
    struct functions *original = *slot;
    if (!original || original->size > sizeof *original || original->size < sizeof original->size ||
        __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        return;
    unsigned at = 0;
    while (at < tables_used && &tables[at].copy != original &&
           (tables[at].original != original || tables[at].kind != list ||
            memcmp(&tables[at].was, original, original->size) != 0))
        at++;
    if (at == tables_used && at < MOST_TABLES) {
        struct table *table = &tables[at];
        memcpy(&table->copy, original, original->size);
        memcpy(&table->was, original, original->size);
        table->original = original;
        table->kind = list;
        for (int i = 0; i < length; i++)
            if (offsetof(struct functions, call[list[i].number + 1]) <= original->size &&
                original->call[list[i].number])
                table->copy.call[list[i].number] = list[i].with;
        __atomic_store_n(&tables_used, at + 1, __ATOMIC_RELEASE);
    }
    if (at < MOST_TABLES)
        *slot = &tables[at].copy;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}
#define EXCHANGE(slot, list) exchange(slot, list, (int)(sizeof list / sizeof *list))

/* The function behind the exchanged one; where an object has got another table meanwhile, that of the first
 * of the kind. */
static rw_any_function behind(const struct functions *functions, const void *kind, int number) {
    const struct table *table = (const struct table *)functions;
    if (table < tables || table >= tables + MOST_TABLES) {
        for (table = tables; table->kind != kind;)
            table++;
    }
    return table->original->call[number];
}

static struct known *last(const void *endpoint, const void *av) {
    const unsigned used = __atomic_load_n(&known_used, __ATOMIC_ACQUIRE);
    for (unsigned i = used; i-- > (used < MOST_KNOWN ? 0 : used - MOST_KNOWN);) {
        struct known *each = &known[i % MOST_KNOWN];
        if (endpoint ? each->endpoint == endpoint : each->av == av && each->address_bytes)
            return each;
    }
    return NULL;
}

static uint64_t key_of(const void *av, uint64_t address) {
    return av ? ((uintptr_t)av + address * 0x9e3779b97f4a7c15u) | 1 : 0;
}

static uint64_t peer_of(const void *endpoint, uint64_t address) {
    const struct known *known = address == UNSPECIFIED ? NULL : last(endpoint, NULL);
    return known ? key_of(known->av, address) : 0;
}

static uint64_t size_of(const struct iovec *parts, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

/* What the library calls of itself is in the time of the call around, and is no message. */
static int counts(void) {
    return rw_transport_counts() && !rw_transport_depth;
}

#define NOT_MOVED (done == -EAGAIN ? RW_NETWORK_WAIT : RW_NETWORK_PROGRESS)
#define MOVED(as) (done < 0 ? NOT_MOVED : RW_NETWORK_##as)
#define RECEIVED(flags) (done < 0 || (flags) & PEEK ? NOT_MOVED : RW_NETWORK_RECEIVE)
#define FOUND (done > 0 ? RW_NETWORK_PROGRESS : RW_NETWORK_WAIT)

/* Name, number, parameters, arguments, the peer's address, kind and bytes, of the three tables that move
 * data. */
#define MESSAGE_CALLS(X)                                                                                     \
    X(recv, 0, (struct endpoint * on, void *to, size_t bytes, void *memory, uint64_t peer, void *context),   \
      (on, to, bytes, memory, peer, context), peer, MOVED(RECEIVE), RW_UNSIZED)                              \
    X(recvv, 1,                                                                                              \
      (struct endpoint * on, const struct iovec *to, void **memory, size_t count, uint64_t peer,             \
       void *context),                                                                                       \
      (on, to, memory, count, peer, context), peer, MOVED(RECEIVE), RW_UNSIZED)                              \
    X(recvmsg, 2, (struct endpoint * on, const struct message *message, uint64_t flags),                     \
      (on, message, flags), message->address, RECEIVED(flags), RW_UNSIZED)                                   \
    X(send, 3,                                                                                               \
      (struct endpoint * on, const void *from, size_t bytes, void *memory, uint64_t peer, void *context),    \
      (on, from, bytes, memory, peer, context), peer, MOVED(SEND), bytes)                                    \
    X(sendv, 4,                                                                                              \
      (struct endpoint * on, const struct iovec *from, void **memory, size_t count, uint64_t peer,           \
       void *context),                                                                                       \
      (on, from, memory, count, peer, context), peer, MOVED(SEND), size_of(from, count))                     \
    X(sendmsg, 5, (struct endpoint * on, const struct message *message, uint64_t flags),                     \
      (on, message, flags), message->address, MOVED(SEND), size_of(message->parts, message->count))          \
    X(inject, 6, (struct endpoint * on, const void *from, size_t bytes, uint64_t peer),                      \
      (on, from, bytes, peer), peer, MOVED(SEND), bytes)                                                     \
    X(senddata, 7,                                                                                           \
      (struct endpoint * on, const void *from, size_t bytes, void *memory, uint64_t data, uint64_t peer,     \
       void *context),                                                                                       \
      (on, from, bytes, memory, data, peer, context), peer, MOVED(SEND), bytes)                              \
    X(injectdata, 8, (struct endpoint * on, const void *from, size_t bytes, uint64_t data, uint64_t peer),   \
      (on, from, bytes, data, peer), peer, MOVED(SEND), bytes)

#define TAGGED_CALLS(X)                                                                                      \
    X(recv, 0,                                                                                               \
      (struct endpoint * on, void *to, size_t bytes, void *memory, uint64_t peer, uint64_t tag,              \
       uint64_t ignored, void *context),                                                                     \
      (on, to, bytes, memory, peer, tag, ignored, context), peer, MOVED(RECEIVE), RW_UNSIZED)                \
    X(recvv, 1,                                                                                              \
      (struct endpoint * on, const struct iovec *to, void **memory, size_t count, uint64_t peer,             \
       uint64_t tag, uint64_t ignored, void *context),                                                       \
      (on, to, memory, count, peer, tag, ignored, context), peer, MOVED(RECEIVE), RW_UNSIZED)                \
    X(recvmsg, 2, (struct endpoint * on, const struct message *message, uint64_t flags),                     \
      (on, message, flags), message->address, RECEIVED(flags), RW_UNSIZED)                                   \
    X(send, 3,                                                                                               \
      (struct endpoint * on, const void *from, size_t bytes, void *memory, uint64_t peer, uint64_t tag,      \
       void *context),                                                                                       \
      (on, from, bytes, memory, peer, tag, context), peer, MOVED(SEND), bytes)                               \
    X(sendv, 4,                                                                                              \
      (struct endpoint * on, const struct iovec *from, void **memory, size_t count, uint64_t peer,           \
       uint64_t tag, void *context),                                                                         \
      (on, from, memory, count, peer, tag, context), peer, MOVED(SEND), size_of(from, count))                \
    X(sendmsg, 5, (struct endpoint * on, const struct message *message, uint64_t flags),                     \
      (on, message, flags), message->address, MOVED(SEND), size_of(message->parts, message->count))          \
    X(inject, 6, (struct endpoint * on, const void *from, size_t bytes, uint64_t peer, uint64_t tag),        \
      (on, from, bytes, peer, tag), peer, MOVED(SEND), bytes)                                                \
    X(senddata, 7,                                                                                           \
      (struct endpoint * on, const void *from, size_t bytes, void *memory, uint64_t data, uint64_t peer,     \
       uint64_t tag, void *context),                                                                         \
      (on, from, bytes, memory, data, peer, tag, context), peer, MOVED(SEND), bytes)                         \
    X(injectdata, 8,                                                                                         \
      (struct endpoint * on, const void *from, size_t bytes, uint64_t data, uint64_t peer, uint64_t tag),    \
      (on, from, bytes, data, peer, tag), peer, MOVED(SEND), bytes)

#define MEMORY_CALLS(X)                                                                                      \
    X(read, 0,                                                                                               \
      (struct endpoint * on, void *to, size_t bytes, void *memory, uint64_t peer, uint64_t from,             \
       uint64_t key, void *context),                                                                         \
      (on, to, bytes, memory, peer, from, key, context), peer, MOVED(RECEIVE), bytes)                        \
    X(readv, 1,                                                                                              \
      (struct endpoint * on, const struct iovec *to, void **memory, size_t count, uint64_t peer,             \
       uint64_t from, uint64_t key, void *context),                                                          \
      (on, to, memory, count, peer, from, key, context), peer, MOVED(RECEIVE), size_of(to, count))           \
    X(readmsg, 2, (struct endpoint * on, const struct message *message, uint64_t flags),                     \
      (on, message, flags), message->address, MOVED(RECEIVE), size_of(message->parts, message->count))       \
    X(write, 3,                                                                                              \
      (struct endpoint * on, const void *from, size_t bytes, void *memory, uint64_t peer, uint64_t to,       \
       uint64_t key, void *context),                                                                         \
      (on, from, bytes, memory, peer, to, key, context), peer, MOVED(SEND), bytes)                           \
    X(writev, 4,                                                                                             \
      (struct endpoint * on, const struct iovec *from, void **memory, size_t count, uint64_t peer,           \
       uint64_t to, uint64_t key, void *context),                                                            \
      (on, from, memory, count, peer, to, key, context), peer, MOVED(SEND), size_of(from, count))            \
    X(writemsg, 5, (struct endpoint * on, const struct message *message, uint64_t flags),                    \
      (on, message, flags), message->address, MOVED(SEND), size_of(message->parts, message->count))          \
    X(inject, 6,                                                                                             \
      (struct endpoint * on, const void *from, size_t bytes, uint64_t peer, uint64_t to, uint64_t key),      \
      (on, from, bytes, peer, to, key), peer, MOVED(SEND), bytes)                                            \
    X(writedata, 7,                                                                                          \
      (struct endpoint * on, const void *from, size_t bytes, void *memory, uint64_t data, uint64_t peer,     \
       uint64_t to, uint64_t key, void *context),                                                            \
      (on, from, bytes, memory, data, peer, to, key, context), peer, MOVED(SEND), bytes)                     \
    X(injectdata, 8,                                                                                         \
      (struct endpoint * on, const void *from, size_t bytes, uint64_t data, uint64_t peer, uint64_t to,      \
       uint64_t key),                                                                                        \
      (on, from, bytes, data, peer, to, key), peer, MOVED(SEND), bytes)

#define QUEUE_CALLS(X)                                                                                       \
    X(read, CQ_READ, (struct opened * on, void *to, size_t count), (on, to, count), UNSPECIFIED, FOUND, 0)   \
    X(readfrom, CQ_READFROM, (struct opened * on, void *to, size_t count, uint64_t *from),                   \
      (on, to, count, from), UNSPECIFIED, FOUND, 0)                                                          \
    X(sread, CQ_SREAD, (struct opened * on, void *to, size_t count, const void *until, int timeout),         \
      (on, to, count, until, timeout), UNSPECIFIED, RW_NETWORK_WAIT, 0)                                      \
    X(sreadfrom, CQ_SREADFROM,                                                                               \
      (struct opened * on, void *to, size_t count, uint64_t *from, const void *until, int timeout),          \
      (on, to, count, from, until, timeout), UNSPECIFIED, RW_NETWORK_WAIT, 0)

#define DEFINE(kind, field, name, number, parameters, arguments, address, as, size)                          \
    static ssize_t kind##_##name parameters {                                                                \
        ssize_t(*const next) parameters = (ssize_t(*) parameters)behind(on->field, of_##kind, number);       \
        if (!counts())                                                                                       \
            return next arguments;                                                                           \
        const uint64_t reached = peer_of(on, address);                                                       \
        const uint64_t begin = rw_transport_enter();                                                         \
        const ssize_t done = next arguments;                                                                 \
        const int kind_of = as;                                                                              \
        const int moved = kind_of == RW_NETWORK_SEND || kind_of == RW_NETWORK_RECEIVE;                       \
        rw_transport_leave(RW_TRANSPORT_LIBFABRIC, reached, kind_of, moved ? (size) : 0, begin);             \
        return done;                                                                                         \
    }
#define DEFINE_MESSAGE(name, ...) DEFINE(message, message, name, __VA_ARGS__)
#define DEFINE_TAGGED(name, ...) DEFINE(tagged, tagged, name, __VA_ARGS__)
#define DEFINE_MEMORY(name, ...) DEFINE(memory, memory, name, __VA_ARGS__)
#define DEFINE_QUEUE(name, ...) DEFINE(queue, functions, name, __VA_ARGS__)
#define LIST(kind, name, number) {number, (rw_any_function)kind##_##name},
#define LIST_MESSAGE(name, number, ...) LIST(message, name, number)
#define LIST_TAGGED(name, number, ...) LIST(tagged, name, number)
#define LIST_MEMORY(name, number, ...) LIST(memory, name, number)
#define LIST_QUEUE(name, number, ...) LIST(queue, name, number)

static const struct exchange of_message[9], of_tagged[9], of_memory[9], of_queue[4];
MESSAGE_CALLS(DEFINE_MESSAGE)
TAGGED_CALLS(DEFINE_TAGGED)
MEMORY_CALLS(DEFINE_MEMORY)
QUEUE_CALLS(DEFINE_QUEUE)
static const struct exchange of_message[9] = {MESSAGE_CALLS(LIST_MESSAGE)};
static const struct exchange of_tagged[9] = {TAGGED_CALLS(LIST_TAGGED)};
static const struct exchange of_memory[9] = {MEMORY_CALLS(LIST_MEMORY)};
static const struct exchange of_queue[4] = {QUEUE_CALLS(LIST_QUEUE)};

/* The function behind, of the type of the one that it is in. */
#define BEHIND(self, functions, kind, number) ((__typeof__(&self))behind(functions, of_##kind, number))

static const struct exchange of_counter[1];
static int counter_wait(struct opened *on, uint64_t until, int timeout) {
    __typeof__(&counter_wait) next = BEHIND(counter_wait, on->functions, counter, COUNTER_WAIT);
    if (!counts())
        return next(on, until, timeout);
    const uint64_t begin = rw_transport_enter();
    const int done = next(on, until, timeout);
    rw_transport_leave(RW_TRANSPORT_LIBFABRIC, 0, RW_NETWORK_WAIT, 0, begin);
    return done;
}
static const struct exchange of_counter[1] = {{COUNTER_WAIT, (rw_any_function)counter_wait}};

static const struct exchange of_av[1];
static int av_insert(struct opened *on, const void *addresses, size_t count, uint64_t *given, uint64_t flags,
                     void *context) {
    const int done =
        BEHIND(av_insert, on->functions, av, AV_INSERT)(on, addresses, count, given, flags, context);
    const struct known *known = last(NULL, on);
    for (size_t i = 0; done > 0 && known && given && addresses && i < count; i++)
        if (given[i] != UNSPECIFIED)
            rw_transport_learn(key_of(on, given[i]), (const char *)addresses + i * known->address_bytes,
                               known->address_bytes);
    return done;
}
static const struct exchange of_av[1] = {{AV_INSERT, (rw_any_function)av_insert}};

static const struct exchange of_names[1];
static int get_name(struct object *object, void *address, size_t *bytes) {
    const size_t room = *bytes;
    const int done =
        BEHIND(get_name, ((struct endpoint *)object)->names, names, GETNAME)(object, address, bytes);
    if (done == 0 && address && *bytes && *bytes <= room) {
        rw_transport_own(RW_TRANSPORT_LIBFABRIC, address, *bytes);
        struct known *known = last(object, NULL);
        if (known && known->of_length)
            known->address_bytes = *bytes;
    }
    return done;
}
static const struct exchange of_names[1] = {{GETNAME, (rw_any_function)get_name}};

static void exchange_endpoint(struct endpoint *endpoint);

static const struct exchange of_endpoint_object[2];
static int endpoint_bind(struct object *object, struct object *to, uint64_t flags) {
    const int done = BEHIND(endpoint_bind, object->functions, endpoint_object, BIND)(object, to, flags);
    struct known *known = last(object, NULL);
    if (done == 0 && to->class == CLASS_AV && known)
        known->av = to;
    return done;
}

/* Providers may choose an endpoint's tables when it is enabled. */
static int endpoint_control(struct object *object, int command, void *argument) {
    const int done =
        BEHIND(endpoint_control, object->functions, endpoint_object, CONTROL)(object, command, argument);
    exchange_endpoint((struct endpoint *)object);
    return done;
}
static const struct exchange of_endpoint_object[2] = {{BIND, (rw_any_function)endpoint_bind},
                                                      {CONTROL, (rw_any_function)endpoint_control}};

static const struct exchange of_contexts[2];
static int tx_context(struct endpoint *on, int index, void *attributes, struct endpoint **opened,
                      void *context) {
    const int done =
        BEHIND(tx_context, on->endpoint, contexts, TX_CONTEXT)(on, index, attributes, opened, context);
    if (done == 0)
        exchange_endpoint(*opened);
    return done;
}
static int rx_context(struct endpoint *on, int index, void *attributes, struct endpoint **opened,
                      void *context) {
    const int done =
        BEHIND(rx_context, on->endpoint, contexts, RX_CONTEXT)(on, index, attributes, opened, context);
    if (done == 0)
        exchange_endpoint(*opened);
    return done;
}
static const struct exchange of_contexts[2] = {{TX_CONTEXT, (rw_any_function)tx_context},
                                               {RX_CONTEXT, (rw_any_function)rx_context}};

static void exchange_endpoint(struct endpoint *endpoint) {
    EXCHANGE(&endpoint->object.functions, of_endpoint_object);
    EXCHANGE(&endpoint->endpoint, of_contexts);
    EXCHANGE(&endpoint->names, of_names);
    EXCHANGE(&endpoint->message, of_message);
    EXCHANGE(&endpoint->memory, of_memory);
    EXCHANGE(&endpoint->tagged, of_tagged);
}

static void open_endpoint(struct endpoint *endpoint, const struct about *about) {
    const unsigned at = __atomic_fetch_add(&known_used, 1, __ATOMIC_ACQ_REL);
    const int of_length =
        about && about->address_format != FORMAT_UNSPECIFIED && about->address_format != FORMAT_TEXT;
    known[at % MOST_KNOWN] = (struct known){endpoint, NULL, 0, of_length};
    exchange_endpoint(endpoint);
}

static const struct exchange of_domain[6];
#define OPENS(name, number, parameters, arguments, then)                                                     \
    static int domain_##name parameters {                                                                    \
        const int done = BEHIND(domain_##name, on->functions, domain, number) arguments;                     \
        if (done == 0)                                                                                       \
            then;                                                                                            \
        return done;                                                                                         \
    }
OPENS(av, DOMAIN_AV, (struct opened * on, void *attributes, struct opened **opened, void *context),
      (on, attributes, opened, context), EXCHANGE(&(*opened)->functions, of_av))
OPENS(cq, DOMAIN_CQ, (struct opened * on, void *attributes, struct opened **opened, void *context),
      (on, attributes, opened, context), EXCHANGE(&(*opened)->functions, of_queue))
OPENS(counter, DOMAIN_COUNTER, (struct opened * on, void *attributes, struct opened **opened, void *context),
      (on, attributes, opened, context), EXCHANGE(&(*opened)->functions, of_counter))
OPENS(endpoint, DOMAIN_ENDPOINT, (struct opened * on, void *info, struct endpoint **opened, void *context),
      (on, info, opened, context), open_endpoint(*opened, info))
OPENS(scalable, DOMAIN_SCALABLE, (struct opened * on, void *info, struct endpoint **opened, void *context),
      (on, info, opened, context), open_endpoint(*opened, info))
OPENS(endpoint2, DOMAIN_ENDPOINT2,
      (struct opened * on, void *info, struct endpoint **opened, uint64_t flags, void *context),
      (on, info, opened, flags, context), open_endpoint(*opened, info))
static const struct exchange of_domain[6] = {
    {DOMAIN_AV, (rw_any_function)domain_av},
    {DOMAIN_CQ, (rw_any_function)domain_cq},
    {DOMAIN_COUNTER, (rw_any_function)domain_counter},
    {DOMAIN_ENDPOINT, (rw_any_function)domain_endpoint},
    {DOMAIN_SCALABLE, (rw_any_function)domain_scalable},
    {DOMAIN_ENDPOINT2, (rw_any_function)domain_endpoint2},
};

static const struct exchange of_fabric[2];
static int fabric_domain(struct opened *on, void *info, struct opened **opened, void *context) {
    const int done = BEHIND(fabric_domain, on->functions, fabric, FABRIC_DOMAIN)(on, info, opened, context);
    if (done == 0)
        EXCHANGE(&(*opened)->functions, of_domain);
    return done;
}
static int fabric_domain2(struct opened *on, void *info, struct opened **opened, uint64_t flags,
                          void *context) {
    const int done =
        BEHIND(fabric_domain2, on->functions, fabric, FABRIC_DOMAIN2)(on, info, opened, flags, context);
    if (done == 0)
        EXCHANGE(&(*opened)->functions, of_domain);
    return done;
}
static const struct exchange of_fabric[2] = {{FABRIC_DOMAIN, (rw_any_function)fabric_domain},
                                             {FABRIC_DOMAIN2, (rw_any_function)fabric_domain2}};

/* Whether anything will be counted: objects are opened before that is known for sure. */
static int is_wanted(void) {
    const char *directory = getenv("RANKWISE_DIR"), *network = getenv("RANKWISE_NETWORK");
    return directory && directory[0] && !(network && strcmp(network, "0") == 0);
}

enum { FI_FABRIC, FI_FABRIC2, FUNCTIONS };
static const char *const names[] = {"fi_fabric", "fi_fabric2"};
static rw_any_function next_functions[RW_TRANSPORT_CALLERS * FUNCTIONS];
static struct rw_transport_library libfabric = {
    .file = "libfabric.so", .names = names, .functions = FUNCTIONS, .next = next_functions};

EXPORT int rw_fi_fabric(void *attributes, struct opened **fabric, void *context) {
    int outer;
    __typeof__(&rw_fi_fabric) next = (__typeof__(&rw_fi_fabric))rw_transport_next(
        &libfabric, FI_FABRIC, __builtin_return_address(0), &outer);
    const int done = next(attributes, fabric, context);
    if (done == 0 && outer && is_wanted())
        EXCHANGE(&(*fabric)->functions, of_fabric);
    return done;
}
__asm__(".symver rw_fi_fabric, fi_fabric@FABRIC_1.1");

EXPORT int rw_fi_fabric2(void *info, struct opened **fabric, uint64_t flags, void *context) {
    int outer;
    __typeof__(&rw_fi_fabric2) next = (__typeof__(&rw_fi_fabric2))rw_transport_next(
        &libfabric, FI_FABRIC2, __builtin_return_address(0), &outer);
    const int done = next(info, fabric, flags, context);
    if (done == 0 && outer && is_wanted())
        EXCHANGE(&(*fabric)->functions, of_fabric);
    return done;
}
__asm__(".symver rw_fi_fabric2, fi_fabric2@FABRIC_1.8");
