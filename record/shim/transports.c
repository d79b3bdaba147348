/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/transports.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define A_RUN RW_NETWORK_A_RUN(struct rw_transport_entry)

enum { HANDLES = 1 << 16, PROBES = 64, MOST_OWN = 64 };

/* What a handle reaches. The address is stored before the key is seen; a handle that is given out again has a
 * new one. */
static struct handle {
    uint64_t key;
    uint64_t address; /* 0: not known */
    uint32_t entry;   /* 0: none yet */
} handles[HANDLES];

static struct {
    enum rw_transport transport;
    uint64_t address;
} own[MOST_OWN];
static unsigned owned, owned_written;

__thread unsigned rw_transport_depth;

static void write_own(void);
struct rw_network rw_shim_network = {.begun = write_own};

/* Who finds a lock taken does without: a signal handler, or a child of fork whose parent held it, may come
 * here. */
static int try_lock(int *lock) {
    return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

static void unlock(int *lock) {
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* FNV-1a; 0 is left for none. */
static uint64_t hash(const void *address, size_t size) {
    const uint8_t *bytes = address;
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * 0x100000001b3u;
    return value ? value : 1;
}

static struct rw_transport_entry *entry_at(uint32_t at) {
    return (struct rw_transport_entry *)(rw_shim_network.transports.run[at / A_RUN] + 1) + at % A_RUN;
}

/* With the lock held. @return the new entry's number, 0 without room */
static uint32_t new_entry(enum rw_transport transport, enum rw_transport_role role, uint64_t address) {
    struct rw_network_table *table = &rw_shim_network.transports;
    const uint32_t at = table->used;
    if (at >= __atomic_load_n(&table->runs, __ATOMIC_ACQUIRE) * A_RUN)
        return 0;
    struct rw_transport_entry *entry = entry_at(at);
    entry->transport = transport;
    entry->role = role;
    entry->address = address;
    struct rw_chunk_header *run = table->run[at / A_RUN];
    __atomic_store_n(&run->used, (at % A_RUN + 1) * sizeof *entry, __ATOMIC_RELEASE);
    __atomic_store_n(&table->used, at + 1, __ATOMIC_RELEASE);
    return at;
}

static uint32_t entry_of(enum rw_transport transport, uint64_t address) {
    for (uint32_t at = RW_TRANSPORTS; at < rw_shim_network.transports.used; at++) {
        const struct rw_transport_entry *entry = entry_at(at);
        if (entry->address == address && entry->transport == transport && entry->role == RW_ROLE_PEER)
            return at;
    }
    return new_entry(transport, RW_ROLE_PEER, address);
}

static void write_own(void) {
    if (!try_lock(&rw_shim_network.lock))
        return;
    const unsigned known = __atomic_load_n(&owned, __ATOMIC_ACQUIRE);
    while (owned_written < known &&
           new_entry(own[owned_written].transport, RW_ROLE_OWN, own[owned_written].address))
        owned_written++;
    unlock(&rw_shim_network.lock);
}

void rw_transport_own(enum rw_transport transport, const void *address, size_t size) {
    static int lock;
    const uint64_t value = hash(address, size);
    if (!try_lock(&lock))
        return;
    unsigned at = 0;
    while (at < owned && (own[at].address != value || own[at].transport != transport))
        at++;
    if (at == owned && at < MOST_OWN) {
        own[at].transport = transport;
        own[at].address = value;
        __atomic_store_n(&owned, at + 1, __ATOMIC_RELEASE);
    }
    unlock(&lock);
    if (__atomic_load_n(&rw_shim_network.on, __ATOMIC_ACQUIRE))
        write_own();
}

static struct handle *handle_of(uint64_t key, int make) {
    const uint64_t first = key * 0x9e3779b97f4a7c15u >> 48;
    for (uint64_t i = 0; i < PROBES; i++) {
        struct handle *handle = &handles[(first + i) % HANDLES];
        uint64_t found = __atomic_load_n(&handle->key, __ATOMIC_ACQUIRE);
        if (found == key)
            return handle;
        if (found == 0 && !make)
            return NULL;
        if (found == 0 &&
            __atomic_compare_exchange_n(&handle->key, &found, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return handle;
    }
    return NULL;
}

void rw_transport_learn(uint64_t key, const void *address, size_t size) {
    struct handle *handle = handle_of(key, 1);
    if (!handle)
        return;
    __atomic_store_n(&handle->entry, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&handle->address, size ? hash(address, size) : 0, __ATOMIC_RELEASE);
}

/* The entry of a handle's peer; that of no peer where it is not known. */
static uint32_t peer_of(enum rw_transport transport, uint64_t key) {
    struct handle *handle = key ? handle_of(key, 0) : NULL;
    if (!handle)
        return transport;
    uint32_t entry = __atomic_load_n(&handle->entry, __ATOMIC_RELAXED);
    if (entry)
        return entry;
    const uint64_t address = __atomic_load_n(&handle->address, __ATOMIC_ACQUIRE);
    if (!address || !try_lock(&rw_shim_network.lock))
        return transport;
    entry = entry_of(transport, address);
    unlock(&rw_shim_network.lock);
    if (!entry)
        return transport;
    __atomic_store_n(&handle->entry, entry, __ATOMIC_RELAXED);
    return entry;
}

void rw_transport_leave(enum rw_transport transport, uint64_t key, int kind, uint64_t bytes, uint64_t begin) {
    const uint64_t ticks = rw_ticks() - begin;
    rw_transport_depth--;
    if (!__atomic_load_n(&rw_shim_network.on, __ATOMIC_ACQUIRE))
        return; /* it came back after counting had ended: what was counted is closed */
    const int error = errno;
    struct rw_transport_entry *entry = entry_at(peer_of(transport, key));
    const int total = rw_shim_network.inside_mpi() ? RW_NETWORK_KINDS + kind : kind;
    __atomic_fetch_add(&entry->calls[total], 1, __ATOMIC_RELAXED);
    if (!rw_transport_depth)
        __atomic_fetch_add(&entry->ticks[total], ticks, __ATOMIC_RELAXED);
    if (bytes == RW_UNSIZED)
        __atomic_fetch_add(&entry->unsized[(total > kind) * 2 + (kind == RW_NETWORK_RECEIVE)], 1,
                           __ATOMIC_RELAXED);
    else if (bytes)
        __atomic_fetch_add(&entry->bytes[total], bytes, __ATOMIC_RELAXED);
    errno = error;
}

/* A loaded object by an address in it, or by how the name of its file begins. */
struct object {
    uintptr_t address;
    const char *file;
    uintptr_t begin, end;
    const char *path;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct object *object = data;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            begin = from < begin ? from : begin;
            end = from + info->dlpi_phdr[i].p_memsz > end ? from + info->dlpi_phdr[i].p_memsz : end;
        }
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const int is_it = object->file ? slash && strncmp(slash + 1, object->file, strlen(object->file)) == 0
                                   : object->address - begin < end - begin && begin < end;
    if (is_it) {
        object->begin = begin;
        object->end = end;
        object->path = info->dlpi_name;
    }
    return is_it;
}

/* Handles keep their objects loaded: what is remembered of them stays true. */
static void *keep(const struct object *object) {
    return object->path && object->path[0] ? dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)
                                           : NULL;
}

/* As the loader would have found it: in the global scope behind the shim, then in that of the caller. */
static rw_any_function look_up(const char *name, void *caller) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found && caller)
        found = dlsym(caller, name);
    dlerror(); /* the program must not find our failures */
    return (rw_any_function)(uintptr_t)found;
}

/* For a caller in whose scopes there is none: this shim, where a function ends with a call of another one. */
static void *any_library(const struct rw_transport_library *library) {
    struct object object = {.file = library->file};
    dl_iterate_phdr(visit, &object);
    return keep(&object);
}

static int is_in(const struct object *object, uintptr_t address) {
    return address - object->begin < object->end - object->begin;
}

static void know(struct rw_transport_library *library, const struct object *from) {
    const unsigned at = library->callers;
    struct rw_transport_caller *caller = &library->caller[at];
    void *handle = keep(from);
    struct object kept = {0};
    unsigned found = 0;
    caller->next = library->next + (size_t)at * library->functions;
    for (int again = 0; again < 2 && !found; again++, handle = any_library(library))
        for (unsigned i = 0; i < library->functions; i++)
            found += (caller->next[i] = look_up(library->names[i], handle)) != NULL;
    caller->is_library = is_in(from, (uintptr_t)&rw_shim_network);
    for (unsigned i = 0; i < library->functions; i++) {
        struct object of_library = {.address = (uintptr_t)caller->next[i]};
        if (!of_library.address)
            continue;
        caller->is_library |= is_in(from, of_library.address);
        if (is_in(&kept, of_library.address))
            continue;
        dl_iterate_phdr(visit, &of_library);
        (void)keep(&of_library);
        kept = of_library;
    }
    caller->begin = from->begin;
    caller->bytes = from->end - from->begin;
    __atomic_store_n(&library->callers, at + 1, __ATOMIC_RELEASE);
}

static const struct rw_transport_caller *known(const struct rw_transport_library *library,
                                               const void *address) {
    const unsigned callers = __atomic_load_n(&library->callers, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < callers; i++)
        if ((uintptr_t)address - library->caller[i].begin < library->caller[i].bytes)
            return &library->caller[i];
    return NULL;
}

rw_any_function rw_transport_find(struct rw_transport_library *library, unsigned function, const void *caller,
                                  int *outer) {
    const int error = errno;
    const struct rw_transport_caller *found = known(library, caller);
    struct object from = {.address = (uintptr_t)caller};
    if (!found) {
        dl_iterate_phdr(visit, &from);
        if (from.end && try_lock(&library->lock)) {
            found = known(library, caller);
            if (!found && library->callers < RW_TRANSPORT_CALLERS) {
                know(library, &from);
                found = &library->caller[library->callers - 1];
            }
            unlock(&library->lock);
        }
    }
    *outer = found && !found->is_library;
    rw_any_function next = found ? found->next[function] : look_up(library->names[function], keep(&from));
    if (!next) { /* as the loader ends a process that lacks a function */
        dprintf(STDERR_FILENO, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name,
                library->names[function]);
        _exit(127);
    }
    errno = error;
    return next;
}
