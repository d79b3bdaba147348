/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens on the node, sampled by one of its ranks: by the one that did it last, and where that does not
 * come to it, or has died, by any other. They agree by numbers in the head of the node's file.
 */
#ifndef RANKWISE_RECORD_NODE_H
#define RANKWISE_RECORD_NODE_H

#include "thread/thread.h"

/**
 * @brief Before MPI_Init returns: prepare the node's samples, or use those that another rank prepared.
 * @param asked_ns time between two samples; 0: only at the start and the end
 */
RW_HIDDEN void rw_node_start(const struct rw_thread *thread, uint64_t asked_ns);

/** @brief Between two calls: take the node's sample if it is due and no other rank does. */
RW_HIDDEN void rw_node_sample(const struct rw_rank *rank);

/** @brief MPI_Finalize is entered: the last rank of the node takes the last sample. */
RW_HIDDEN void rw_node_end(void);

#endif
