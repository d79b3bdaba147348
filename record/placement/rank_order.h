/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who takes which rank, so that a placement holds although the launcher dealt the processes otherwise. Knows
 * no MPI.
 */
#ifndef RANKWISE_RECORD_RANK_ORDER_H
#define RANKWISE_RECORD_RANK_ORDER_H

#include <stdint.h>

enum { RW_HOST_BYTES = 64 };

/* A placement as `rankwise run --reorder` writes it (python/rankwise/run/reorder.py):
 *     rankwise-reorder/1 RANKS NODES
 *     HOST                            one a node, `*` for any
 *     NODE PUS                        one a rank, OS numbers as `0-3,8`
 */
struct rw_placement {
    int ranks, nodes;
    char (*host)[RW_HOST_BYTES]; /* of each node; "*" for any */
    int *node;                   /* of each rank */
    char **pus;                  /* of each rank */
    char *text;                  /* holds the strings */
};

/* What each process tells all others. */
struct rw_process_place {
    char host[RW_HOST_BYTES];
    uint64_t pus;       /* rw_hash of those it may use */
    uint64_t placement; /* rw_hash of the file it has read, 0 if it could not */
};

/** @brief A number for a text, never 0. */
uint64_t rw_hash(const char *text);

/**
 * @brief Read a placement.
 * @return NULL, or what is wrong
 */
const char *rw_read_placement(const char *path, struct rw_placement *placement);

void rw_free_plan(struct rw_placement *placement);

/**
 * @brief Find the new rank of a process.
 *
 * Hosts are those of the placement's names, and for nodes of any name hosts with as many processes, that of
 * the first process for the node of rank 0 if it can be. On each host the first process keeps rank 0, because
 * launchers hand their standard input to it; then processes that are bound to a rank's PUs take that rank;
 * then processes keep their ranks; the rest is dealt in order. All processes find the same.
 *
 * @param process of each of placement->ranks processes, by the launcher's rank
 * @param own the launcher's rank of the process that asks
 * @param reason filled in if there is none
 * @return the rank, or -1
 */
int rw_new_rank(const struct rw_placement *placement, const struct rw_process_place *process, int own,
                char reason[256]);

#endif
