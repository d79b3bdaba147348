/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared_requests.h"

#include <string.h>
#include <sys/mman.h>

/*
 * Tables of chunks of slots, each table eight times as large as the one before. A record lies in the first
 * free slot on the path of its handle: from the chunk that its hash says, through `reach` chunks, then
 * likewise in the next table. A chunk counts the records that went past it because it was full, so a search
 * ends at the first that none went past.
 */
#define SLOTS 7u
#define TABLES 5u
#define FIRST_BITS 8u
#define FIRST_REACH 16u

/*
 * A slot is free, being written or read by one thread (busy), or holds a record. Then its state has the
 * record's number: who finds it unchanged has seen one and the same record.
 */
enum { FREE, BUSY, HELD, STATE_MASK = 3 };
#define NUMBER_SHIFT 2

struct chunk {
    struct {
        uint64_t state;
        uintptr_t handle;
    } slots[SLOTS];
    uint64_t passed; /* records that are further on */
} __attribute__((aligned(128)));

struct record {
    uint64_t words[sizeof(struct rw_request) / sizeof(uint64_t)];
};
_Static_assert(sizeof(struct record) == sizeof(struct rw_request), "a record is whole words");

#define CHUNKS(table) ((uint64_t)1 << (FIRST_BITS + 3 * (table)))
static struct chunk first_chunks[CHUNKS(0)];
static struct record first_records[CHUNKS(0) * SLOTS];
/* Chunks, and behind them their records. */
static struct chunk *more_chunks[TABLES];

uint64_t rw_shared_added __attribute__((aligned(128))); /* threads often write it */

static uint64_t number_of(uint64_t state) {
    return state >> NUMBER_SHIFT;
}

/* ---- the path of a handle ---- */

struct path {
    unsigned table;
    uint64_t step, home;
    uint64_t passed; /* chunks so far */
    struct chunk *chunks, *chunk;
};

static void begin_table(struct path *path, uintptr_t handle, unsigned table, struct chunk *chunks) {
    path->table = table;
    path->step = 0;
    path->home = (uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - FIRST_BITS - 3 * table);
    path->chunks = chunks;
    path->chunk = &chunks[path->home];
}

static struct path begin_path(uintptr_t handle) {
    struct path path;
    path.passed = 0;
    begin_table(&path, handle, 0, first_chunks);
    return path;
}

/* The next chunk; 0 where there is none (yet). */
static int follow(struct path *path, uintptr_t handle) {
    if (++path->step < (uint64_t)FIRST_REACH << (3 * path->table)) {
        path->chunk = &path->chunks[(path->home + path->step) & (CHUNKS(path->table) - 1)];
        path->passed++;
        return 1;
    }
    path->step--;
    const unsigned table = path->table + 1;
    struct chunk *chunks = table < TABLES ? __atomic_load_n(&more_chunks[table], __ATOMIC_ACQUIRE) : NULL;
    if (!chunks)
        return 0;
    begin_table(path, handle, table, chunks);
    path->passed++;
    return 1;
}

static int make_table(unsigned table) {
    if (table >= TABLES)
        return 0;
    const size_t bytes = CHUNKS(table) * (sizeof(struct chunk) + SLOTS * sizeof(struct record));
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct chunk *none = NULL;
    if (memory == MAP_FAILED)
        return 0;
    if (!__atomic_compare_exchange_n(&more_chunks[table], &none, memory, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        munmap(memory, bytes); /* another thread has made it */
    return 1;
}

static struct record *record_at(const struct path *path, unsigned slot) {
    struct record *records =
        path->table == 0 ? first_records : (struct record *)(path->chunks + CHUNKS(path->table));
    return &records[(uint64_t)(path->chunk - path->chunks) * SLOTS + slot];
}

/* ---- records ---- */

/* Word by word: who only looks a record up may do so while another thread takes one that lay here before. */
static void write_record(struct record *to, const struct rw_request *request) {
    struct record from;
    memcpy(&from, request, sizeof from);
    for (unsigned i = 0; i < sizeof to->words / sizeof *to->words; i++)
        __atomic_store_n(&to->words[i], from.words[i], __ATOMIC_RELAXED);
}

static void read_record(const struct record *from, struct rw_request *request) {
    struct record to;
    for (unsigned i = 0; i < sizeof to.words / sizeof *to.words; i++)
        to.words[i] = __atomic_load_n(&from->words[i], __ATOMIC_ACQUIRE);
    memcpy(request, &to, sizeof to);
}

struct found {
    struct path path;
    unsigned slot;
    uint64_t state;
};

/* The newest record of the handle among the first `added`. */
static int find(uintptr_t handle, uint64_t added, struct found *found) {
    struct path path = begin_path(handle);
    int any = 0;
    do {
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            if (__atomic_load_n(&path.chunk->slots[slot].handle, __ATOMIC_RELAXED) != handle)
                continue;
            const uint64_t state = __atomic_load_n(&path.chunk->slots[slot].state, __ATOMIC_ACQUIRE);
            if ((state & STATE_MASK) != HELD || number_of(state) > added ||
                __atomic_load_n(&path.chunk->slots[slot].handle, __ATOMIC_RELAXED) != handle ||
                (any && number_of(state) <= number_of(found->state)))
                continue;
            any = 1;
            *found = (struct found){path, slot, state};
        }
    } while (__atomic_load_n(&path.chunk->passed, __ATOMIC_ACQUIRE) && follow(&path, handle));
    return any;
}

int rw_shared_has(uintptr_t handle) {
    struct found found;
    return find(handle, UINT64_MAX, &found);
}

/* What went past the first `chunks` of the path is no longer there. */
static void pass_no_longer(uintptr_t handle, uint64_t chunks) {
    struct path path = begin_path(handle);
    for (; path.passed < chunks; follow(&path, handle))
        __atomic_fetch_sub(&path.chunk->passed, 1, __ATOMIC_RELEASE);
}

void rw_shared_add(const struct rw_request *request, uintptr_t handle) {
    const uint64_t number = __atomic_add_fetch(&rw_shared_added, 1, __ATOMIC_RELAXED);
    struct path path = begin_path(handle);
    for (;;) {
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            uint64_t *const state = &path.chunk->slots[slot].state;
            uint64_t seen = __atomic_load_n(state, __ATOMIC_RELAXED);
            if (seen != FREE ||
                !__atomic_compare_exchange_n(state, &seen, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                continue;
            __atomic_store_n(&path.chunk->slots[slot].handle, handle, __ATOMIC_RELAXED);
            write_record(record_at(&path, slot), request);
            __atomic_store_n(state, number << NUMBER_SHIFT | HELD, __ATOMIC_RELEASE);
            return;
        }
        __atomic_fetch_add(&path.chunk->passed, 1, __ATOMIC_RELEASE);
        if (follow(&path, handle) || (make_table(path.table + 1) && follow(&path, handle)))
            continue;
        __atomic_fetch_sub(&path.chunk->passed, 1, __ATOMIC_RELEASE);
        pass_no_longer(handle, path.passed);
        return;
    }
}

int rw_shared_use(uintptr_t handle, uint64_t added, struct rw_request *copy, enum rw_request_use how) {
    struct found found;
    while (find(handle, added, &found)) {
        uint64_t *const state = &found.path.chunk->slots[found.slot].state;
        struct record *const record = record_at(&found.path, found.slot);
        if (how == RW_LOOK_UP) { /* several threads may mark partitions of a request as ready */
            read_record(record, copy);
            if (__atomic_load_n(state, __ATOMIC_RELAXED) == found.state)
                return 1;
            continue;
        }
        uint64_t seen = found.state;
        if (!__atomic_compare_exchange_n(state, &seen, BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        read_record(record, copy);
        if (how == RW_DROP || (how == RW_TAKE && !copy->persistent)) {
            __atomic_store_n(state, (uint64_t)FREE, __ATOMIC_RELEASE);
            if (RW_UNLIKELY(found.path.passed))
                pass_no_longer(handle, found.path.passed);
            return 1;
        }
        struct rw_request changed = *copy;
        if (how == RW_START)
            changed.active = 1;
        else if (how == RW_CANCEL)
            changed.cancelling = 1;
        else
            changed.active = changed.cancelling = changed.told = 0;
        write_record(record, &changed);
        __atomic_store_n(state, found.state, __ATOMIC_RELEASE);
        return 1;
    }
    return 0;
}
