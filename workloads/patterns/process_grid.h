/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes in a grid of up to three dimensions, ranks as in MPI_Cart_create: the last dimension runs
 * fastest. */
#ifndef RANKWISE_WORKLOADS_PATTERNS_PROCESS_GRID_H
#define RANKWISE_WORKLOADS_PATTERNS_PROCESS_GRID_H

enum { GRID_DIMENSIONS = 3, GRID_NOBODY = -1 };

struct process_grid {
    int extent[GRID_DIMENSIONS]; /* 1 in dimensions it does not have */
    int place[GRID_DIMENSIONS];  /* of one rank */
    int periodic;
};

/*
 * @brief Cut ranks into dimensions as close to each other as can be: the largest is as small as possible,
 * then the next one; they do not increase.
 */
void grid_cut(int ranks, int dimensions, int extent[GRID_DIMENSIONS]);

struct process_grid grid_of(const int extent[GRID_DIMENSIONS], int rank, int periodic);

/* @return the rank that lies `offset` away, or GRID_NOBODY behind an edge that is none of a period */
int grid_neighbour(const struct process_grid *, const int offset[GRID_DIMENSIONS]);

/* @return the rank that lies `distance` away in one dimension */
int grid_along(const struct process_grid *, int dimension, int distance);

#endif
