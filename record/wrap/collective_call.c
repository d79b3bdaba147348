/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap/collective_call.h"

#include <stdlib.h>
#include <string.h>

#include "handles/datatypes.h"
#include "thread/tables.h"
#include "trace/trace.h"

static uint64_t count_at(const struct rw_collective_call *call, uint32_t i) {
    int64_t count =
        call->large ? (int64_t)((const MPI_Count *)call->counts)[i] : ((const int *)call->counts)[i];
    return count > 0 ? (uint64_t)count : 0;
}

static uint64_t size_at(struct rw_thread *thread, const struct rw_collective_call *call, uint32_t i) {
    if (call->in_bytes)
        return ((const uint64_t *)call->counts)[i];
    if (!call->counts)
        return call->same_size;
    uint64_t count = count_at(call, i);
    if (count == 0)
        return 0; /* its datatype need not be valid */
    return count * (call->types ? rw_datatype_bytes(thread, call->types[i]) : call->entry.datatype_bytes);
}

static void enter(struct rw_thread *thread, const struct rw_collective_call *call, uint32_t peer,
                  uint64_t bytes) {
    if (peer == RW_PEER_UNKNOWN)
        thread->rank->flags |= RW_UNCLASSIFIED;
    rw_count_messages(thread, peer, call->entry.call, bytes, 1);
}

/* What goes from this rank to itself, or is empty, is no message of these algorithms. */
static void enter_sends(struct rw_thread *thread, const struct rw_collective_call *call) {
    uint32_t self = thread->rank->world_rank;
    for (uint32_t i = 0; i < call->count; i++) {
        uint64_t bytes = size_at(thread, call, i);
        uint32_t peer = rw_world_rank(call->comm->peers, (int)i);
        if (bytes && peer != self)
            enter(thread, call, peer, bytes);
    }
}

static void enter_neighbours(struct rw_thread *thread, const struct rw_collective_call *call) {
    const int *destinations = call->neighbours->ranks + call->neighbours->in;
    for (uint32_t i = 0; i < call->count; i++)
        if (destinations[i] != MPI_PROC_NULL)
            enter(thread, call, rw_world_rank(call->comm->peers, destinations[i]), size_at(thread, call, i));
}

void rw_record_collective(struct rw_thread *thread, const struct rw_collective_call *call, uint64_t ticks) {
    rw_count_collective(thread, &call->entry, ticks);
    if (!(call->entry.flags & RW_COLL_RECEIVE_SIDE))
        thread->totals[call->entry.call].bytes += call->entry.bytes;
    if (call->kind == RW_SENDS)
        enter_sends(thread, call);
    else if (call->kind == RW_NEIGHBOURS)
        enter_neighbours(thread, call);
    if (call->gather_root != RW_PEER_EMPTY && call->gather_root != thread->rank->world_rank &&
        call->entry.bytes)
        enter(thread, call, call->gather_root, call->entry.bytes);
}

void rw_trace_collective(struct rw_thread *thread, const struct rw_collective_call *call, uint64_t begin,
                         uint64_t end) {
    const struct rw_collective_entry *entry = &call->entry;
    uint32_t sizes = call->kind == RW_NO_SIZES ? 0 : call->count;
    int neighbours = call->kind == RW_NEIGHBOURS;
    unsigned char *at =
        rw_trace_begin(thread, entry->call, begin, end, 7 + (uint64_t)sizes * (neighbours ? 2 : 1));
    if (!at)
        return;
    at = rw_put_u(at, entry->comm);
    at = rw_put_z(at, entry->root);
    at = rw_put_u(at, entry->flags);
    at = rw_put_u(at, entry->datatype_bytes);
    at = rw_put_u(at, entry->bytes);
    at = rw_put_u(at, entry->bytes2);
    at = rw_put_u(at, sizes);
    for (uint32_t i = 0; i < sizes; i++) {
        if (neighbours) {
            int rank = call->neighbours->ranks[call->neighbours->in + i];
            uint32_t peer = rank == MPI_PROC_NULL ? RW_PEER_EMPTY : rw_world_rank(call->comm->peers, rank);
            at = rw_put_z(at, peer == RW_PEER_EMPTY ? -1 : peer == RW_PEER_UNKNOWN ? -3 : (int64_t)peer);
        }
        at = rw_put_u(at, size_at(thread, call, i));
    }
    rw_trace_end(thread, at);
}

struct rw_collective_call *rw_keep_collective(struct rw_thread *thread,
                                              const struct rw_collective_call *call) {
    uint32_t sizes = call->kind == RW_NO_SIZES ? 0 : call->count;
    const struct rw_neighbours *neighbours = call->neighbours;
    uint64_t bytes = neighbours ? sizeof *neighbours + (neighbours->in + neighbours->out) * sizeof(int) : 0;
    struct rw_collective_call *kept = malloc(sizeof *kept + (uint64_t)sizes * sizeof *kept->kept + bytes);
    if (!kept)
        return NULL;
    *kept = *call;
    kept->kept_comm = *call->comm;
    kept->comm = &kept->kept_comm;
    if (neighbours)
        kept->neighbours = memcpy(&kept->kept[sizes], neighbours, bytes);
    for (uint32_t i = 0; i < sizes; i++)
        kept->kept[i] = size_at(thread, call, i);
    if (call->counts) {
        kept->counts = kept->kept;
        kept->types = NULL;
        kept->in_bytes = 1;
    }
    return kept;
}
