/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/peers.h"

#include <sched.h>
#include <string.h>

#include "tune/page.h"
#include "tune/progress.h"

#define SETS 128u /* of world ranks, by hash */
#define WAYS 4u   /* a set's; the last one that was asked for comes first, the first one that was goes */
#define SIZES 4u  /* datatypes whose sizes are kept */
#define ROUTES 32u
#define PLACES 128u /* where an entry of the page is looked for, by rank */
#define REQUESTS 1024u
#define REQUESTS_LOOKED_AT 16u

static int lock;

struct translation {
    MPI_Comm comm;
    int destination, world; /* world rank + 2; 1: nobody of this world; 0: the entry is free */
};
static struct translation world_ranks[SETS][WAYS];

static struct {
    MPI_Request request;
    int used, world;
    uint64_t bytes;
} persistent[REQUESTS];

/* Where messages to these destinations went last, which are found at once. */
static struct route {
    MPI_Comm comm;
    MPI_Datatype type;
    int destination, known;
    int counts; /* it is a rank of this world */
    int64_t size;
    struct rw_tune_peer *peer; /* NULL: it has no entry */
} routes[ROUTES];

static uint8_t entries[PLACES]; /* of the page, + 1; 0: free */
static struct {
    MPI_Datatype type;
    int known;
    int64_t size;
} sizes[SIZES];

static void enter(void) {
    if (RW_UNLIKELY(rw_tune_multiple))
        while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
            sched_yield();
}

static void leave(void) {
    if (RW_UNLIKELY(rw_tune_multiple))
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static unsigned hash(uint64_t value) {
    return (unsigned)(value * 0x9e3779b97f4a7c15ull >> 32);
}

static int64_t size_of(MPI_Datatype type) {
    static unsigned next;
    for (unsigned at = 0; at < SIZES; at++)
        if (sizes[at].known && sizes[at].type == type)
            return sizes[at].size;
    int size = 0;
    RW_PMPI_CALL(Type_size, MPI_Datatype, int *)(type, &size);
    const unsigned at = next++ % SIZES;
    sizes[at].type = type;
    sizes[at].known = 1;
    sizes[at].size = size > 0 ? size : 0; /* undefined: beyond an int */
    return sizes[at].size;
}

/* A local question to the library (MPI 4.1, 7.3.1). */
static int look_up(int destination, MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int inter = 0, found = -1;
    RW_PMPI_CALL(Comm_test_inter, MPI_Comm, int *)(comm, &inter);
    if (inter)
        RW_PMPI_CALL(Comm_remote_group, MPI_Comm, MPI_Group *)(comm, &group);
    else
        RW_PMPI_CALL(Comm_group, MPI_Comm, MPI_Group *)(comm, &group);
    RW_PMPI_CALL(Comm_group, MPI_Comm, MPI_Group *)(MPI_COMM_WORLD, &world);
    RW_PMPI_CALL(Group_translate_ranks, MPI_Group, int, const int *, MPI_Group, int *)
    (group, 1, &destination, world, &found);
    RW_PMPI_CALL(Group_free, MPI_Group *)(&group);
    RW_PMPI_CALL(Group_free, MPI_Group *)(&world);
    return found >= 0 && found < rw_page->ranks ? found : -1; /* of another world: MPI_UNDEFINED */
}

/* -1: nobody of this world. MPI_PROC_NULL is negative in all three ABIs. */
static int world_rank(int destination, MPI_Comm comm) {
    if (destination < 0)
        return -1;
    if (comm == MPI_COMM_WORLD)
        return destination < rw_page->ranks ? destination : -1;
    struct translation *const set =
        world_ranks[hash((uint64_t)(uintptr_t)comm * 31 + (uint64_t)destination) % SETS];
    unsigned way = 0;
    while (way < WAYS && !(set[way].comm == comm && set[way].destination == destination && set[way].world))
        way++;
    if (way > 0) {
        const struct translation found =
            way < WAYS ? set[way] : (struct translation){comm, destination, look_up(destination, comm) + 2};
        memmove(set + 1, set, (way < WAYS ? way : WAYS - 1) * sizeof *set);
        set[0] = found;
    }
    return set[0].world - 2;
}

/* The entry of a rank; NULL if there are no more. */
static struct rw_tune_peer *peer_of(int rank) {
    unsigned at = (unsigned)rank % PLACES;
    for (; entries[at]; at = (at + 1) % PLACES) {
        struct rw_tune_peer *const peer = &rw_page->peer[entries[at] - 1];
        if (peer->rank == rank + 1)
            return peer;
    }
    const uint32_t taken = rw_page->peers;
    if (taken == RW_TUNE_PEERS)
        return NULL;
    entries[at] = (uint8_t)(taken + 1);
    RW_PUT(rw_page->peer[taken].rank, rank + 1);
    __atomic_store_n(&rw_page->peers, taken + 1, __ATOMIC_RELEASE);
    return &rw_page->peer[taken];
}

static void count(struct rw_tune_peer *peer, uint64_t bytes) {
    struct rw_tune_page *const page = rw_page;
    RW_ADD(page->messages, 1);
    RW_ADD(page->bytes, bytes);
    if (peer) {
        RW_ADD(peer->messages, 1);
        RW_ADD(peer->bytes, bytes);
    }
}

/* Of no elements a type may be anything: it is not asked for its size. */
static RW_COLD void find_route(struct route *route, int64_t elements, MPI_Datatype type, int destination,
                               MPI_Comm comm) {
    const int rank = world_rank(destination, comm);
    *route = (struct route){comm, type, destination, elements > 0, rank >= 0, 0, NULL};
    if (rank >= 0) {
        route->size = elements > 0 ? size_of(type) : 0;
        route->peer = peer_of(rank);
    }
}

void rw_tune_count_message(int64_t elements, MPI_Datatype type, int destination, MPI_Comm comm) {
    if (destination < 0) /* MPI_PROC_NULL */
        return;
    enter();
    struct route *const route = &routes[(unsigned)destination % ROUTES];
    if (RW_UNLIKELY(!route->known || route->destination != destination || route->comm != comm ||
                    route->type != type))
        find_route(route, elements, type, destination, comm);
    if (route->counts)
        count(route->peer, elements > 0 ? (uint64_t)(elements * route->size) : 0);
    leave();
}

/* Where a request is, or can be put: the first place at last. */
static unsigned place_of(MPI_Request request) {
    const unsigned first = hash((uint64_t)(uintptr_t)request);
    unsigned found = first % REQUESTS;
    for (unsigned at = 0; at < REQUESTS_LOOKED_AT; at++) {
        const unsigned place = (first + at) % REQUESTS;
        if (persistent[place].used && persistent[place].request == request)
            return place;
        if (!persistent[place].used && persistent[found].used)
            found = place;
    }
    return found;
}

void rw_tune_note_persistent(MPI_Request request, int64_t elements, MPI_Datatype type, int destination,
                             MPI_Comm comm) {
    enter();
    const int world = world_rank(destination, comm);
    const unsigned at = place_of(request);
    persistent[at].request = request;
    persistent[at].world = world;
    persistent[at].bytes = elements > 0 && world >= 0 ? (uint64_t)(elements * size_of(type)) : 0;
    persistent[at].used = world >= 0;
    leave();
}

void rw_tune_forget_persistent(MPI_Request request) {
    enter();
    const unsigned at = place_of(request);
    if (persistent[at].request == request)
        persistent[at].used = 0;
    leave();
}

void rw_tune_count_started(MPI_Request request) {
    enter();
    const unsigned at = place_of(request);
    if (persistent[at].used && persistent[at].request == request)
        count(peer_of(persistent[at].world), persistent[at].bytes);
    leave();
}

void rw_tune_forget_communicator(MPI_Comm comm) {
    enter();
    for (unsigned set = 0; set < SETS; set++)
        for (unsigned way = 0; way < WAYS; way++)
            if (world_ranks[set][way].comm == comm)
                world_ranks[set][way].world = 0;
    for (unsigned at = 0; at < ROUTES; at++)
        routes[at].known &= routes[at].comm != comm;
    leave();
}

void rw_tune_forget_type(MPI_Datatype type) {
    enter();
    for (unsigned at = 0; at < SIZES; at++)
        if (sizes[at].type == type)
            sizes[at].known = 0;
    for (unsigned at = 0; at < ROUTES; at++)
        routes[at].known &= routes[at].type != type;
    leave();
}
