/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_COLLECTIVE_H
#define RANKWISE_RECORD_COLLECTIVE_H

#include "handles/communicators.h"
#include "thread/thread.h"

/* What the per-rank sizes of a call are. */
enum rw_sizes {
    RW_NO_SIZES,
    RW_CONTRIBUTIONS, /* what each rank gives; for the trace only */
    RW_SENDS,         /* what this rank sends to each rank of the peer group */
    RW_NEIGHBOURS     /* what this rank sends to each of its destinations, zero sizes and itself included */
};

/* A collective call in the words of formats/recording.h, whatever its arguments were. */
struct rw_collective_call {
    struct rw_collective_entry entry;
    struct rw_communicator *comm;
    const struct rw_neighbours *neighbours;
    enum rw_sizes kind;
    uint32_t count;            /* of sizes */
    uint64_t same_size;        /* of each, where `counts` is NULL */
    const void *counts;        /* int, or MPI_Count if `large` */
    const MPI_Datatype *types; /* one for each count, or NULL: entry.datatype_bytes */
    int large;
    uint32_t gather_root; /* gatherv: world rank that gets this rank's block, else RW_PEER_EMPTY */
    int in_bytes;         /* persistent calls: `counts` are `kept`, sizes in bytes */
    struct rw_communicator kept_comm; /* persistent calls: the program may free theirs */
    uint64_t kept[];
};

/** @brief Enter a call into the tables. */
RW_HIDDEN void rw_record_collective(struct rw_thread *thread, const struct rw_collective_call *call,
                                    uint64_t ticks);

/** @brief Write a call's event. */
RW_HIDDEN void rw_trace_collective(struct rw_thread *thread, const struct rw_collective_call *call,
                                   uint64_t begin, uint64_t end);

/** @brief A copy that outlives the call's arguments, for persistent operations; from malloc, NULL without
 * memory. */
RW_HIDDEN struct rw_collective_call *rw_keep_collective(struct rw_thread *thread,
                                                        const struct rw_collective_call *call);

#endif
