/* SPDX-License-Identifier: BSD-3-Clause */
#include "handles/communicators.h"
#include "thread/current.h"

#include <stdlib.h>
#include <string.h>

#include "store/storage.h"

#define BUCKETS 1024u

uint64_t rw_comm_generation = 1;
MPI_Group rw_world_group;

static struct rw_communicator *buckets[BUCKETS]; /* read without lock */
static struct rw_group *groups[BUCKETS];
static int lock; /* for all that changes */
static uint32_t communicators;
static struct rw_communicator *spare;
static struct rw_group empty_group = {.regular = 1};
static struct rw_communicator unknown = {.group = &empty_group, .peers = &empty_group, .index = UINT32_MAX};

/* The log of definitions: one for the process, in the name of the thread that wrote first. */
static struct rw_chunk_header *definitions;
static uint64_t definition_runs;
static uint32_t owner;

static unsigned bucket_of(uintptr_t handle) {
    return (unsigned)((uint64_t)handle * 0x9e3779b97f4a7c15u >> 54);
}

static uint64_t hash_of(const int *ranks, uint32_t size) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */
    for (uint32_t i = 0; i < size; i++)
        for (unsigned shift = 0; shift < 32; shift += 8)
            hash = (hash ^ ((uint32_t)ranks[i] >> shift & 0xff)) * 0x100000001b3u;
    return hash;
}

static struct rw_group *intern(const int *ranks, uint32_t size) {
    uint64_t hash = hash_of(ranks, size);
    struct rw_group **bucket = &groups[hash % BUCKETS], *group;
    for (group = *bucket; group; group = group->next)
        if (group->hash == hash && group->size == size)
            return group;
    group = calloc(1, sizeof *group);
    if (!group)
        return &empty_group;
    group->hash = hash;
    group->size = size;
    group->first = size ? (uint32_t)ranks[0] : 0;
    group->stride = size > 1 ? ranks[1] - ranks[0] : 0;
    group->regular = 1;
    for (uint32_t i = 0; i < size; i++)
        if (ranks[i] < 0 || ranks[i] != (int)group->first + group->stride * (int)i)
            group->regular = 0;
    if (!group->regular) {
        group->ranks = malloc(size * sizeof *group->ranks);
        if (!group->ranks) {
            free(group);
            return &empty_group;
        }
        for (uint32_t i = 0; i < size; i++)
            group->ranks[i] = ranks[i] < 0 ? RW_PEER_UNKNOWN : (uint32_t)ranks[i];
    }
    group->next = *bucket;
    *bucket = group;
    return group;
}

/* World ranks of an MPI group's members, interned; the MPI group is freed. */
static struct rw_group *resolve(MPI_Group group) {
    int size = 0;
    RW_PMPI_CALL(Group_size, MPI_Group, int *)(group, &size);
    int *ranks = size > 0 ? malloc(2 * (size_t)size * sizeof *ranks) : NULL;
    struct rw_group *resolved = &empty_group;
    if (ranks) {
        int *world = ranks + size;
        for (int i = 0; i < size; i++)
            ranks[i] = i;
        int result = MPI_ERR_GROUP;
        if (rw_world_group != MPI_GROUP_NULL)
            result = RW_PMPI_CALL(Group_translate_ranks, MPI_Group, int, const int *, MPI_Group,
                                  int *)(group, size, ranks, rw_world_group, world);
        for (int i = 0; i < size; i++)
            if (result != MPI_SUCCESS || world[i] == MPI_UNDEFINED)
                world[i] = (int)RW_PEER_UNKNOWN;
        resolved = intern(world, (uint32_t)size);
        free(ranks);
    }
    RW_PMPI_CALL(Group_free, MPI_Group *)(&group);
    return resolved;
}

struct rw_group *rw_resolve_group(MPI_Group group) {
    rw_lock(&lock);
    struct rw_group *resolved = resolve(group);
    rw_unlock(&lock);
    return resolved;
}

static uint32_t run_length(const struct rw_group *group, uint32_t from, int32_t *stride) {
    uint32_t end = from + 1;
    *stride =
        end < group->size ? (int32_t)(rw_world_rank(group, (int)end) - rw_world_rank(group, (int)from)) : 0;
    while (end < group->size &&
           (int32_t)(rw_world_rank(group, (int)end) - rw_world_rank(group, (int)end - 1)) == *stride)
        end++;
    return end - from;
}

/* Write a group as runs behind `at`, or only count them if `at` is NULL. */
static uint32_t put_runs(const struct rw_group *group, struct rw_rank_run *at) {
    uint32_t runs = 0;
    for (uint32_t from = 0; from < group->size; runs++) {
        struct rw_rank_run run = {.first = rw_world_rank(group, (int)from)};
        run.count = run_length(group, from, &run.stride);
        if (at)
            memcpy(at + runs, &run, sizeof run);
        from += run.count;
    }
    return runs;
}

/* Regular groups are always written; an irregular one once, by its first two members. */
static int worth_writing(struct rw_group *group, int rank) {
    if (group->regular)
        return 1;
    int write = !group->written && rank < 2;
    group->written = 1;
    return write;
}

static void define(struct rw_thread *thread, const struct rw_communicator *comm, uint32_t instance) {
    uint32_t runs = worth_writing(comm->group, comm->rank) ? put_runs(comm->group, NULL) : 0;
    uint32_t remote_runs = comm->inter ? put_runs(comm->peers, NULL) : 0;
    uint64_t bytes = sizeof(struct rw_comm) + (uint64_t)(runs + remote_runs) * sizeof(struct rw_rank_run);
    if (!definitions ||
        sizeof *definitions + definitions->used + bytes > (uint64_t)definitions->chunks * RW_CHUNK_BYTES) {
        uint32_t chunks = (uint32_t)((sizeof *definitions + bytes + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES);
        struct rw_chunk_header *run =
            thread->full ? NULL : rw_storage_take(RW_CHUNK_COMMS, chunks, definition_runs, NULL);
        if (!run) {
            rw_out_of_space(thread);
            return;
        }
        if (!definitions) {
            owner = thread->rank_chunk;
        } else {
            rw_storage_seal(definitions, definitions->used, 1);
            rw_storage_release(definitions);
        }
        run->rank_chunk = owner;
        rw_storage_publish(run);
        definitions = run;
        definition_runs++;
    }
    char *at = (char *)(definitions + 1) + definitions->used;
    struct rw_comm entry = {
        .index = comm->index,
        .size = comm->group->size,
        .rank = (uint32_t)comm->rank,
        .runs = runs,
        .group_hash = comm->group->hash,
        .instance = instance,
        .remote_size = comm->inter ? comm->peers->size : 0,
        .remote_runs = remote_runs,
    };
    memcpy(at, &entry, sizeof entry);
    if (runs)
        put_runs(comm->group, (struct rw_rank_run *)(at + sizeof entry));
    if (remote_runs)
        put_runs(comm->peers, (struct rw_rank_run *)(at + sizeof entry) + runs);
    __atomic_store_n(&definitions->used, definitions->used + bytes, __ATOMIC_RELEASE);
}

void rw_seal_communicators(const struct rw_thread *thread, int closed) {
    rw_lock(&lock);
    if (definitions && owner == thread->rank_chunk)
        rw_storage_seal(definitions, definitions->used, closed);
    rw_unlock(&lock);
}

static struct rw_communicator *new_communicator(void) {
    struct rw_communicator *comm = spare;
    if (comm)
        spare = comm->next;
    else
        comm = malloc(sizeof *comm);
    if (comm)
        *comm = (struct rw_communicator){.index = communicators++};
    return comm;
}

static void publish(struct rw_communicator *comm, uintptr_t handle) {
    struct rw_communicator **bucket = &buckets[bucket_of(handle)];
    comm->handle = handle;
    comm->next = *bucket;
    __atomic_store_n(bucket, comm, __ATOMIC_RELEASE);
}

static void add(struct rw_thread *thread, MPI_Comm handle, struct rw_group *group, struct rw_group *remote,
                int rank) {
    struct rw_communicator *comm = new_communicator();
    if (!comm)
        return;
    comm->group = group;
    comm->peers = remote ? remote : group;
    comm->inter = remote != NULL;
    comm->rank = rank;
    define(thread, comm, group->instances++);
    publish(comm, (uintptr_t)handle);
}

void rw_register_world(struct rw_thread *thread, uint32_t size, uint32_t rank) {
    int *ranks = malloc(size * sizeof *ranks), self = (int)rank;
    if (!ranks)
        return;
    for (uint32_t i = 0; i < size; i++)
        ranks[i] = (int)i;
    struct rw_group *world = intern(ranks, size);
    free(ranks);
    add(thread, MPI_COMM_WORLD, world, NULL, self);
    add(thread, MPI_COMM_SELF, intern(&self, 1), NULL, 0);
}

static struct rw_communicator *look_up(uintptr_t handle) {
    struct rw_communicator *comm = __atomic_load_n(&buckets[bucket_of(handle)], __ATOMIC_ACQUIRE);
    while (comm && comm->handle != handle)
        comm = __atomic_load_n(&comm->next, __ATOMIC_ACQUIRE);
    return comm;
}

void rw_register(struct rw_thread *thread, MPI_Comm comm) {
    if (comm == MPI_COMM_NULL || !rw_process.ready)
        return;
    int inter = 0, rank = 0;
    MPI_Group group, remote;
    RW_PMPI_CALL(Comm_test_inter, MPI_Comm, int *)(comm, &inter);
    RW_PMPI_CALL(Comm_rank, MPI_Comm, int *)(comm, &rank);
    if (RW_PMPI_CALL(Comm_group, MPI_Comm, MPI_Group *)(comm, &group) != MPI_SUCCESS)
        return;
    if (inter && RW_PMPI_CALL(Comm_remote_group, MPI_Comm, MPI_Group *)(comm, &remote) != MPI_SUCCESS) {
        RW_PMPI_CALL(Group_free, MPI_Group *)(&group);
        return;
    }
    rw_lock(&lock);
    struct rw_group *local = resolve(group), *others = inter ? resolve(remote) : NULL;
    if (!look_up((uintptr_t)comm))
        add(thread, comm, local, others, rank);
    rw_unlock(&lock);
}

struct rw_communicator *rw_register_duplicate(struct rw_thread *thread, MPI_Comm of) {
    const struct rw_communicator *original = rw_communicator(thread, of);
    if (original == &unknown)
        return NULL;
    rw_lock(&lock);
    struct rw_communicator *comm = new_communicator();
    if (comm) {
        uint32_t index = comm->index;
        *comm = *original;
        comm->index = index;
        comm->neighbours = NULL;
        define(thread, comm, comm->group->instances++);
    }
    rw_unlock(&lock);
    return comm;
}

void rw_duplicate_done(struct rw_communicator *duplicate, MPI_Comm comm) {
    rw_lock(&lock);
    publish(duplicate, (uintptr_t)comm);
    rw_unlock(&lock);
}

void rw_unregister(MPI_Comm comm) {
    rw_lock(&lock);
    struct rw_communicator **link = &buckets[bucket_of((uintptr_t)comm)];
    while (*link && (*link)->handle != (uintptr_t)comm)
        link = &(*link)->next;
    struct rw_communicator *gone = *link;
    if (gone) {
        __atomic_store_n(link, gone->next, __ATOMIC_RELEASE);
        __atomic_add_fetch(&rw_comm_generation, 1, __ATOMIC_RELEASE);
        /* Another thread may still be walking past it: with MPI_THREAD_MULTIPLE it is never used again. */
        if (!rw_process.multiple) {
            free(gone->neighbours);
            gone->next = spare;
            spare = gone;
        }
    }
    rw_unlock(&lock);
}

struct rw_communicator *rw_find_communicator(struct rw_thread *thread, MPI_Comm comm) {
    struct rw_communicator *found = look_up((uintptr_t)comm);
    if (!found && comm != MPI_COMM_NULL) {
        rw_register(thread, comm);
        found = look_up((uintptr_t)comm);
        thread->rank->flags |= RW_LAZY_COMMS;
    }
    return found ? found : &unknown;
}
