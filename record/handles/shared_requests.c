/* SPDX-License-Identifier: BSD-3-Clause */
#include "handles/shared_requests.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Tables of slots, a cache line each; each table is eight times as large as the one before. A record lies in
 * the first free slot on the path of its handle: from the slot that its hash says, through `reach` slots,
 * then likewise in the next table. A slot counts the records that went past it because it was taken, so a
 * search ends at the first that none went past.
 */
#define TABLES 5u
#define FIRST_BITS RW_SHARED_BITS
#define FIRST_REACH 32u

/* What follows the handle in struct rw_request: the number for the trace, eight bytes of fields, and what
 * depends on them. */
enum { RECORD_WORDS = RW_SHARED_WORDS, RECORD_BYTES = RECORD_WORDS * sizeof(uint64_t) };

_Static_assert(sizeof(struct rw_shared_slot) == 64, "a slot is a cache line");
_Static_assert(offsetof(struct rw_request, number) + RECORD_BYTES == sizeof(struct rw_request),
               "all is in a record");
_Static_assert(offsetof(struct rw_request, call) == offsetof(struct rw_request, number) + 8,
               "fields are one word");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIELD_SHIFT(field) (8 * (offsetof(struct rw_request, field) - offsetof(struct rw_request, call)))
#else
#define FIELD_SHIFT(field)                                                                                   \
    (8 * (8 + offsetof(struct rw_request, call) - offsetof(struct rw_request, field) -                       \
          sizeof(((struct rw_request *)0)->field)))
#endif

#define TABLE_SLOTS(table) ((uint64_t)1 << (FIRST_BITS + 3 * (table)))
struct rw_shared_slot rw_shared_first[TABLE_SLOTS(0)];
static struct rw_shared_slot *more_slots[TABLES];

uint64_t rw_shared_added __attribute__((aligned(128))); /* threads often write it */

#define NUMBER_SHIFT 2
static uint64_t number_of(uint64_t state) {
    return state >> NUMBER_SHIFT;
}

/* ---- the path of a handle ---- */

struct path {
    unsigned table;
    uint64_t step, home;
    uint64_t passed; /* slots so far */
    struct rw_shared_slot *slots, *slot;
};

static void begin_table(struct path *path, uintptr_t handle, unsigned table, struct rw_shared_slot *slots) {
    path->table = table;
    path->step = 0;
    path->home = (uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - FIRST_BITS - 3 * table);
    path->slots = slots;
    path->slot = &slots[path->home];
}

static struct path begin_path(uintptr_t handle) {
    struct path path;
    path.passed = 0;
    begin_table(&path, handle, 0, rw_shared_first);
    return path;
}

/* The next slot; 0 where there is none (yet). */
static int follow(struct path *path, uintptr_t handle) {
    if (++path->step < (uint64_t)FIRST_REACH << (3 * path->table)) {
        path->slot = &path->slots[(path->home + path->step) & (TABLE_SLOTS(path->table) - 1)];
        path->passed++;
        return 1;
    }
    path->step--;
    const unsigned table = path->table + 1;
    struct rw_shared_slot *slots =
        table < TABLES ? __atomic_load_n(&more_slots[table], __ATOMIC_ACQUIRE) : NULL;
    if (!slots)
        return 0;
    begin_table(path, handle, table, slots);
    path->passed++;
    return 1;
}

static int make_table(unsigned table) {
    if (table >= TABLES)
        return 0;
    const size_t bytes = TABLE_SLOTS(table) * sizeof(struct rw_shared_slot);
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct rw_shared_slot *none = NULL;
    if (memory == MAP_FAILED)
        return 0;
    if (!__atomic_compare_exchange_n(&more_slots[table], &none, memory, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        munmap(memory, bytes); /* another thread has made it */
    return 1;
}

/* ---- records ---- */

/* Word by word: who only looks a record up may do so while another thread takes one that lay here before.
 * Whoever reads a word of the next record then also sees that the slot was busy. */
static inline void write_record(struct rw_shared_slot *to, const uint64_t words[RECORD_WORDS]) {
#pragma GCC unroll 8
    for (unsigned i = 0; i < RECORD_WORDS; i++)
        __atomic_store_n(&to->words[i], words[i], __ATOMIC_RELEASE);
}

static inline void read_record(const struct rw_shared_slot *from, struct rw_request *request) {
#pragma GCC unroll 8
    for (unsigned i = 0; i < RECORD_WORDS; i++) {
        const uint64_t word = __atomic_load_n(&from->words[i], __ATOMIC_ACQUIRE);
        memcpy((char *)&request->number + sizeof word * i, &word, sizeof word);
    }
}

struct found {
    struct rw_shared_slot *slot;
    uint64_t seen;   /* its state; 0: nothing was found */
    uint64_t passed; /* slots of the path before it */
};

/* What `found` is to be, if this slot has a newer record of the handle among the first `added`. */
static inline void look_into(const struct path *path, uintptr_t handle, uint64_t added, struct found *found) {
    struct rw_shared_slot *const slot = path->slot;
    const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot->handle, __ATOMIC_RELAXED) != handle ||
        (state & RW_SHARED_STATE) != RW_SHARED_HELD || number_of(state) > added || state < found->seen)
        return;
    found->slot = slot;
    found->seen = state;
    found->passed = path->passed;
}

static inline int find(uintptr_t handle, uint64_t added, struct found *found) {
    struct path path = begin_path(handle);
    found->seen = 0;
    look_into(&path, handle, added, found);
    while (RW_UNLIKELY(__atomic_load_n(&path.slot->passed, __ATOMIC_ACQUIRE)) && follow(&path, handle))
        look_into(&path, handle, added, found);
    return found->seen != 0;
}

/* Enough for requests whose completion nobody saw, and few enough to be searched. */
#define SAME_HANDLE 128u

int rw_shared_keep(uintptr_t handle, int wanted) {
    unsigned same = 0;
    struct path path = begin_path(handle);
    do {
        same += __atomic_load_n(&path.slot->handle, __ATOMIC_RELAXED) == handle &&
                (__atomic_load_n(&path.slot->state, __ATOMIC_RELAXED) & RW_SHARED_STATE) == RW_SHARED_HELD;
    } while (__atomic_load_n(&path.slot->passed, __ATOMIC_ACQUIRE) && follow(&path, handle));
    return same < SAME_HANDLE && (wanted || same);
}

/* What went past the first `slots` of the path is no longer there. */
static void pass_no_longer(uintptr_t handle, uint64_t slots) {
    struct path path = begin_path(handle);
    for (; path.passed < slots; follow(&path, handle))
        __atomic_fetch_sub(&path.slot->passed, 1, __ATOMIC_RELEASE);
}

static void add(uintptr_t handle, const uint64_t words[RECORD_WORDS]) {
    const uint64_t number = __atomic_add_fetch(&rw_shared_added, 1, __ATOMIC_RELAXED);
    struct path path = begin_path(handle);
    for (;;) {
        struct rw_shared_slot *const slot = path.slot;
        uint64_t seen = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
        if (seen == RW_SHARED_FREE && __atomic_compare_exchange_n(&slot->state, &seen, RW_SHARED_BUSY, 0,
                                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            __atomic_store_n(&slot->handle, handle, __ATOMIC_RELAXED);
            write_record(slot, words);
            __atomic_store_n(&slot->state, number << NUMBER_SHIFT | RW_SHARED_HELD, __ATOMIC_RELEASE);
            return;
        }
        __atomic_fetch_add(&slot->passed, 1, __ATOMIC_RELEASE);
        if (follow(&path, handle) || (make_table(path.table + 1) && follow(&path, handle)))
            continue;
        __atomic_fetch_sub(&slot->passed, 1, __ATOMIC_RELEASE);
        pass_no_longer(handle, path.passed);
        return;
    }
}

void rw_shared_add(const struct rw_request *request, uintptr_t handle) {
    uint64_t words[RECORD_WORDS];
    memcpy(words, &request->number, sizeof words);
    add(handle, words);
}

/* The fields as one number: put together in memory, they would be waited for when loaded again. */
void rw_shared_add_receive(uintptr_t handle, uint64_t number, unsigned call, struct rw_group *peers) {
    const uint64_t words[RECORD_WORDS] = {
        number, (uint64_t)RW_REQUEST_RECEIVE << FIELD_SHIFT(kind) | (uint64_t)call << FIELD_SHIFT(call),
        (uintptr_t)peers};
    add(handle, words);
}

int rw_shared_use(uintptr_t handle, uint64_t added, struct rw_request *copy, enum rw_request_use how) {
    struct found found;
    while (find(handle, added, &found)) {
        if (how == RW_LOOK_UP) { /* several threads may mark partitions of a request as ready */
            read_record(found.slot, copy);
            if (__atomic_load_n(&found.slot->state, __ATOMIC_RELAXED) == found.seen)
                return 1;
            continue;
        }
        uint64_t seen = found.seen;
        if (!__atomic_compare_exchange_n(&found.slot->state, &seen, RW_SHARED_BUSY, 0, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        read_record(found.slot, copy);
        if (how == RW_DROP || (how == RW_TAKE && !copy->persistent)) {
            __atomic_store_n(&found.slot->state, RW_SHARED_FREE, __ATOMIC_RELEASE);
            if (RW_UNLIKELY(found.passed))
                pass_no_longer(handle, found.passed);
            return 1;
        }
        struct rw_request changed = *copy;
        if (how == RW_START)
            changed.active = 1;
        else if (how == RW_CANCEL)
            changed.cancelling = 1;
        else
            changed.active = changed.cancelling = changed.reported = 0;
        uint64_t words[RECORD_WORDS];
        memcpy(words, &changed.number, sizeof words);
        write_record(found.slot, words);
        __atomic_store_n(&found.slot->state, found.seen, __ATOMIC_RELEASE);
        return 1;
    }
    return 0;
}
