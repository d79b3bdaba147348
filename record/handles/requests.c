/* SPDX-License-Identifier: BSD-3-Clause */
#include "handles/requests.h"
#include "thread/current.h"

#include <sys/mman.h>

#define FIRST_BUCKETS 4096u
#define SLAB_RECORDS 512u

uint64_t rw_requests_near, rw_requests_in_table;
struct rw_near_request rw_near[1u << RW_NEAR_BITS];
_Static_assert(sizeof(struct rw_request) <= 64, "a request's record fits a cache line");
_Static_assert(sizeof(struct rw_near_request) == 32, "two requests that are near fit a cache line");

static struct rw_request *first_buckets[FIRST_BUCKETS];
static struct rw_request **buckets = first_buckets;
static unsigned bucket_bits = 12;
static struct rw_request *spare;

static struct rw_request **bucket_of(uintptr_t handle) {
    return &buckets[(uint64_t)handle * 0x9e3779b97f4a7c15u >> (64 - bucket_bits)];
}

static void *map_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void more_records(void) {
    struct rw_request *slab = map_memory(SLAB_RECORDS * sizeof *slab);
    for (unsigned i = 0; slab && i < SLAB_RECORDS; i++) {
        slab[i].next = spare;
        spare = &slab[i];
    }
}

/* Four times as many buckets once chains get long; order within a chain is kept by appending oldest first. */
static void more_buckets(void) {
    unsigned old_bits = bucket_bits;
    struct rw_request **old = buckets, **more = map_memory((sizeof *more << old_bits) * 4);
    if (!more)
        return;
    buckets = more;
    bucket_bits = old_bits + 2;
    for (uint64_t i = 0; i < (uint64_t)1 << old_bits; i++) {
        struct rw_request *reversed = NULL, *next;
        for (struct rw_request *request = old[i]; request; request = next) {
            next = request->next;
            request->next = reversed;
            reversed = request;
        }
        for (struct rw_request *request = reversed; request; request = next) {
            struct rw_request **bucket = bucket_of(request->handle);
            next = request->next;
            request->next = *bucket;
            *bucket = request;
        }
    }
    if (old != first_buckets)
        munmap(old, sizeof *old << old_bits);
}

struct rw_request *rw_request_new(int kind, unsigned call) {
    struct rw_thread *const thread = rw_current();
    struct rw_request *request = (struct rw_request *)thread->draft;
    if (RW_LIKELY(!rw_process.multiple)) {
        if (!spare)
            more_records();
        request = spare;
    }
    const uint64_t number = kind <= RW_LAST_NUMBERED_REQUEST ? thread->numbered++ : 0;
    if (!request)
        return NULL;
    if (RW_LIKELY(!rw_process.multiple))
        spare = request->next;
    *request = (struct rw_request){.kind = (uint8_t)kind, .call = (uint16_t)call, .number = number};
    return request;
}

static void put(struct rw_request *request, uintptr_t handle) {
    struct rw_request **bucket = bucket_of(handle);
    request->handle = handle;
    request->next = *bucket;
    *bucket = request;
    rw_requests_in_table++;
}

/* Another request has got this handle, or it takes part in more than near ones do: into the table. */
static void move_away(uintptr_t handle) {
    struct rw_near_request *slot = rw_near_slot(handle);
    if (!handle || slot->handle != handle)
        return;
    if (!spare)
        more_records();
    struct rw_request *request = spare, *next = request ? request->next : NULL;
    if (!request)
        return;
    spare = next;
    rw_near_take(slot, request);
    put(request, handle);
}

void rw_request_add(struct rw_request *request, uintptr_t handle) {
    if (RW_UNLIKELY(rw_process.multiple)) {
        rw_shared_add(request, handle);
        return;
    }
    if (rw_requests_in_table > 4 * ((uint64_t)1 << bucket_bits))
        more_buckets();
    move_away(handle);
    put(request, handle);
}

void rw_requests_share(void) {
    for (unsigned i = 0; i < 1u << RW_NEAR_BITS; i++)
        move_away(rw_near[i].handle);
    for (uint64_t i = 0; i < (uint64_t)1 << bucket_bits; i++)
        for (const struct rw_request *request = buckets[i]; request; request = request->next)
            rw_shared_add(request, request->handle);
    rw_requests_in_table = 1;
    rw_process.multiple = 1;
}

static int use(uintptr_t handle, struct rw_request *copy, enum rw_request_use how) {
    if (RW_UNLIKELY(rw_process.multiple))
        return rw_shared_use(handle, how == RW_TAKE ? rw_current()->added_before : UINT64_MAX, copy, how);
    move_away(handle);
    struct rw_request **link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    struct rw_request *const request = *link;
    if (!request)
        return 0;
    *copy = *request;
    if (how == RW_START)
        request->active = 1;
    else if (how == RW_CANCEL)
        request->cancelling = 1;
    else if (how == RW_TAKE && request->persistent)
        request->active = request->cancelling = request->reported = 0;
    else if (how != RW_LOOK_UP) {
        *link = request->next;
        request->next = spare;
        spare = request;
        rw_requests_in_table--;
    }
    return 1;
}

int rw_request_look_up(uintptr_t handle, struct rw_request *found) {
    return use(handle, found, RW_LOOK_UP);
}

int rw_request_start(uintptr_t handle, struct rw_request *started) {
    return use(handle, started, RW_START);
}

int rw_request_cancel(uintptr_t handle, struct rw_request *cancelled) {
    return use(handle, cancelled, RW_CANCEL);
}

int rw_request_take_from_table(uintptr_t handle, struct rw_request *taken) {
    return use(handle, taken, RW_TAKE);
}

int rw_request_drop(uintptr_t handle, struct rw_request *dropped) {
    return use(handle, dropped, RW_DROP);
}

void rw_request_note(uintptr_t handle, int64_t peer, int tag, uint64_t bytes) {
    struct rw_request known;
    if (!rw_request_look_up(handle, &known) || known.kind != RW_REQUEST_RECEIVE || !known.persistent ||
        !known.active || known.reported || !rw_request_drop(handle, &known))
        return;
    struct rw_request *const again = rw_request_new(RW_REQUEST_MESSAGE, known.call); /* takes no number */
    if (!again)
        return;
    *again = known;
    again->reported = 1;
    again->came_peer = (int32_t)peer;
    again->came_tag = tag;
    again->came_bytes = bytes;
    rw_request_add(again, handle);
}
