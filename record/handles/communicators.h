/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators and the world ranks of their members. Registered when they are created, which their members
 * do together and in one order, so that all of them give a communicator the same name (group hash, instance).
 */
#ifndef RANKWISE_RECORD_COMMUNICATORS_H
#define RANKWISE_RECORD_COMMUNICATORS_H

#include "process/abi.h"
#include "process/process.h"
#include "thread/thread.h"

/* A list of world ranks; each distinct one exists once and is kept. */
struct rw_group {
    struct rw_group *next;
    uint64_t hash;
    uint32_t size;
    uint32_t instances; /* communicators made of it so far */
    int regular;        /* world rank of r is first + stride * r */
    uint32_t first;
    int32_t stride;
    uint32_t *ranks; /* where not regular */
    int written;     /* its members are in the file */
};

/* Where the neighbourhood collectives of a topology go, in their order. */
struct rw_neighbours {
    uint32_t in, out;
    int ranks[]; /* in sources, then out destinations: ranks in the communicator */
};

struct rw_communicator {
    struct rw_communicator *next;
    uintptr_t handle;
    uint32_t index;
    int rank;
    int inter;
    struct rw_group *group; /* the local one */
    struct rw_group *peers; /* whom a rank argument means: the remote group of an intercommunicator */
    struct rw_neighbours *neighbours; /* NULL until asked for */
};

/** @brief Register MPI_COMM_WORLD and MPI_COMM_SELF; the world group is known. */
RW_HIDDEN void rw_register_world(struct rw_thread *thread, uint32_t size, uint32_t rank);

/** @brief Register a communicator that was just created; MPI_COMM_NULL is ignored. */
RW_HIDDEN void rw_register(struct rw_thread *thread, MPI_Comm comm);

/** @brief rw_seal() of the log of communicators, if it is in the name of this thread. */
RW_HIDDEN void rw_seal_communicators(const struct rw_thread *thread, int closed);

/**
 * @brief Register a duplicate before its handle is known (MPI_Comm_idup), so that it gets its number in the
 * order in which all members call.
 */
RW_HIDDEN struct rw_communicator *rw_register_duplicate(struct rw_thread *thread, MPI_Comm of);
RW_HIDDEN void rw_duplicate_done(struct rw_communicator *duplicate, MPI_Comm comm);

/** @brief Forget the handle, which the library will use again. */
RW_HIDDEN void rw_unregister(MPI_Comm comm);

/* Changed whenever a handle is forgotten. */
extern uint64_t rw_comm_generation RW_HIDDEN;

/* All processes of the world; MPI_GROUP_NULL: not known. */
extern MPI_Group rw_world_group RW_HIDDEN;

RW_HIDDEN struct rw_communicator *rw_find_communicator(struct rw_thread *thread, MPI_Comm comm);

/** @brief The registered communicator; never NULL. */
static inline struct rw_communicator *rw_communicator(struct rw_thread *thread, MPI_Comm comm) {
    uint64_t generation = __atomic_load_n(&rw_comm_generation, __ATOMIC_RELAXED);
    if (RW_LIKELY(thread->comm_handle == (uintptr_t)comm && thread->comm_generation == generation))
        return thread->comm;
    struct rw_communicator *found = rw_find_communicator(thread, comm);
    thread->comm_handle = (uintptr_t)comm;
    thread->comm_generation = generation;
    thread->comm = found;
    return found;
}

/** @brief World rank of a member, RW_PEER_UNKNOWN if it is none or of another world. */
static inline uint32_t rw_world_rank(const struct rw_group *group, int rank) {
    if (RW_UNLIKELY((uint32_t)rank >= group->size))
        return RW_PEER_UNKNOWN;
    if (RW_LIKELY(group->regular))
        return group->first + (uint32_t)(group->stride * rank);
    return group->ranks[rank];
}

/** @brief World ranks of an MPI group's members; the MPI group is freed. */
RW_HIDDEN struct rw_group *rw_resolve_group(MPI_Group group);

/** @brief Sources and destinations of the communicator's topology; NULL if it has none. */
RW_HIDDEN const struct rw_neighbours *rw_neighbours(struct rw_communicator *known, MPI_Comm comm);

#endif
