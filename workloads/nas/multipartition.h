/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The multi-partition scheme of BT and SP: p x p processes have p cells each, of p x p x p, one in every
 * layer of every dimension, so that a sweep along any dimension keeps all of them busy.
 */
#ifndef RANKWISE_WORKLOADS_MULTIPARTITION_H
#define RANKWISE_WORKLOADS_MULTIPARTITION_H

#include "workload.h"

enum { MULTIPARTITION_DIMENSIONS = 3, MULTIPARTITION_MOST_CELLS = 136, MULTIPARTITION_UNKNOWNS = 5 };

struct cell {
    int place[MULTIPARTITION_DIMENSIONS]; /* from 0, in cells */
    int64_t size[MULTIPARTITION_DIMENSIONS];
    double share; /* of the points of the whole grid */
};

struct multipartition {
    struct comm *comm;
    int for_sweeps, for_faces; /* groups that their messages are on */
    int cells;                 /* of this process, and in each dimension */
    struct cell cell[MULTIPARTITION_MOST_CELLS];
    int layer[MULTIPARTITION_DIMENSIONS][MULTIPARTITION_MOST_CELLS]; /* number of the cell in it */
    int successor[MULTIPARTITION_DIMENSIONS], predecessor[MULTIPARTITION_DIMENSIONS];
    int64_t up[MULTIPARTITION_DIMENSIONS], down[MULTIPARTITION_DIMENSIONS]; /* doubles of a face exchange */
    double share;                                                           /* of all its cells */
};

/* @return the largest number of ranks for a grid of that many points in each dimension */
int multipartition_most_ranks(int points);

/* @brief For a workload's `grid`. */
void multipartition_grid(int ranks, int grid[3]);

/* @brief Copies `group` for sweeps, whose messages are next, and for faces. */
void multipartition_set_up(struct multipartition *, struct comm *, int group, int points);

/* @brief Two layers of all cells' points to the six neighbours, all at once. */
void multipartition_exchange_faces(struct multipartition *);

#endif
