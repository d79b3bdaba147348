/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/peers.h"

#include <string.h>

#include "tune/page.h"

#define KEPT 256u /* entries of the tables here, by hash; a later one takes an earlier one's place */

static struct {
    MPI_Comm comm;
    int destination, world; /* world rank + 1; 0: the entry is free */
} world_ranks[KEPT];

static struct {
    MPI_Request request;
    int used, world;
    uint64_t bytes;
} persistent[KEPT];

static MPI_Datatype last_type;
static int64_t last_size = -1;

static unsigned hash(uint64_t value) {
    return (unsigned)(value * 0x9e3779b97f4a7c15ull >> 56);
}

static int64_t size_of(MPI_Datatype type) {
    if (last_size >= 0 && type == last_type)
        return last_size;
    int size = 0;
    RW_PMPI_CALL(Type_size, MPI_Datatype, int *)(type, &size);
    last_type = type;
    last_size = size > 0 ? size : 0; /* undefined: beyond an int */
    return last_size;
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
    return found;
}

static int world_rank(int destination, MPI_Comm comm) {
    if (comm == MPI_COMM_WORLD)
        return destination;
    const unsigned at = hash((uint64_t)(uintptr_t)comm * 31 + (uint64_t)destination);
    if (!world_ranks[at].world || world_ranks[at].comm != comm ||
        world_ranks[at].destination != destination) {
        world_ranks[at].comm = comm;
        world_ranks[at].destination = destination;
        world_ranks[at].world = look_up(destination, comm) + 1;
    }
    return world_ranks[at].world - 1;
}

static void count(int rank, uint64_t bytes) {
    RW_ADD(rw_page->messages, 1);
    RW_ADD(rw_page->bytes, bytes);
    unsigned at = (unsigned)rank % RW_TUNE_PEERS;
    for (unsigned tried = 0; tried < RW_TUNE_PEERS; tried++, at = at + 1 == RW_TUNE_PEERS ? 0 : at + 1) {
        struct rw_tune_peer *const peer = &rw_page->peer[at];
        if (!peer->rank) {
            RW_PUT(peer->rank, rank + 1);
            RW_ADD(rw_page->peers, 1);
        }
        if (peer->rank == rank + 1) {
            RW_ADD(peer->messages, 1);
            RW_ADD(peer->bytes, bytes);
            return;
        }
    }
}

void rw_tune_count_message(int64_t elements, MPI_Datatype type, int destination, MPI_Comm comm) {
    if (destination < 0) /* MPI_PROC_NULL is negative in all three ABIs */
        return;
    const int rank = world_rank(destination, comm);
    if (rank >= 0 && rank < rw_page->ranks)
        count(rank, elements > 0 ? (uint64_t)(elements * size_of(type)) : 0);
}

void rw_tune_note_persistent(MPI_Request request, int64_t elements, MPI_Datatype type, int destination,
                             MPI_Comm comm) {
    const unsigned at = hash((uint64_t)(uintptr_t)request);
    persistent[at].request = request;
    persistent[at].world = destination < 0 ? -1 : world_rank(destination, comm);
    persistent[at].bytes = elements > 0 ? (uint64_t)(elements * size_of(type)) : 0;
    persistent[at].used = persistent[at].world >= 0 && persistent[at].world < rw_page->ranks;
}

void rw_tune_forget_persistent(MPI_Request request) {
    const unsigned at = hash((uint64_t)(uintptr_t)request);
    if (persistent[at].request == request)
        persistent[at].used = 0;
}

void rw_tune_count_started(MPI_Request request) {
    const unsigned at = hash((uint64_t)(uintptr_t)request);
    if (persistent[at].used && persistent[at].request == request)
        count(persistent[at].world, persistent[at].bytes);
}

void rw_tune_forget_handles(void) {
    memset(world_ranks, 0, sizeof world_ranks);
    last_size = -1;
}
