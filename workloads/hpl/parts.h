/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the workload hpl share. */
#ifndef RANKWISE_WORKLOADS_HPL_PARTS_H
#define RANKWISE_WORKLOADS_HPL_PARTS_H

#include "workload.h"

/* In the order of the workload's options. */
enum hpl_option {
    HPL_ORDER,
    HPL_BLOCK,
    HPL_ROWS,
    HPL_COLUMNS,
    HPL_MAPPING,
    HPL_BROADCAST,
    HPL_DEPTH,
    HPL_SWAP,
    HPL_THRESHOLD,
    HPL_PANEL,
    HPL_RECURSION,
    HPL_STOP,
    HPL_DIVISOR,
    HPL_EQUILIBRATION,
    HPL_PIVOTS,
    HPL_FIRST
};

enum hpl_mapping { HPL_ROW_MAJOR, HPL_COLUMN_MAJOR };
enum hpl_broadcast { HPL_1RING, HPL_1RING_M, HPL_2RING, HPL_2RING_M, HPL_LONG, HPL_LONG_M };
enum hpl_swap { HPL_BINARY_EXCHANGE, HPL_SPREAD_ROLL, HPL_MIX };
enum hpl_variant { HPL_LEFT, HPL_CROUT, HPL_RIGHT };
enum hpl_pivots { HPL_EACH, HPL_TOGETHER, HPL_ALONE };

enum { HPL_ROWS_MOST = 4096 }; /* and columns, of the process grid */

enum { HPL_TAG_COLLECTIVE = 1, HPL_TAG_PIVOT, HPL_TAG_SWAP, HPL_TAG_BROADCAST, HPL_TAG_SOLVE };

struct hpl {
    struct comm *comm;
    const int64_t *option;
    int64_t n, nb;
    int rows, columns; /* of the process grid */
    int row, column;   /* of this process in it */
};

/* Columns j .. j + width - 1 of the matrix, and what is left of it right of them. */
struct hpl_panel {
    int64_t j;
    int width;
    int row, column;       /* of the process that has its diagonal block */
    int64_t local_rows;    /* of this process from row j on */
    int64_t below;         /* of these, those that are below the diagonal block */
    int64_t local_columns; /* of this process right of the panel that are not updated yet */
};

/* @brief The process grid: as the options say, what they leave open as the number of ranks gives. */
void hpl_shape(const int64_t *option, int ranks, int *rows, int *columns);

/* @return how many of `count` rows from global row `first` on are on process `process` of `processes` */
int64_t hpl_local(const struct hpl *, int64_t count, int64_t first, int process, int processes);

/* @return world rank of the process at a row of this process' column, at a column of its row */
int hpl_in_column(const struct hpl *, int row);
int hpl_in_row(const struct hpl *, int column);

static inline int hpl_modulo(int a, int n) {
    return ((a % n) + n) % n;
}
static inline int64_t hpl_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Both ways at once if both have doubles to move, as MPI_Irecv, MPI_Send, MPI_Wait; nothing of 0 doubles. */
void hpl_exchange(const struct hpl *, int partner, int tag, int64_t sent, int64_t received);

/* Collectives that HPL writes with sends and receives in a binary tree; `members` ranks at `rank_of`. */
void hpl_tree_broadcast(const struct hpl *, int (*rank_of)(const struct hpl *, int), int members, int mine,
                        int root, enum comm_type, int64_t count);
void hpl_tree_reduce(const struct hpl *, int (*rank_of)(const struct hpl *, int), int members, int mine,
                     enum comm_type, int64_t count);

/* @brief Factor a panel: what the processes of its column do. */
void hpl_factor(const struct hpl *, const struct hpl_panel *);

/* @brief Send or begin to receive a panel, as MPI_Iprobe finds it; @return when it is there and passed on. */
void hpl_broadcast_begin(const struct hpl *, const struct hpl_panel *);
void hpl_broadcast_end(const struct hpl *, const struct hpl_panel *);

/*
 * @brief Exchange the pivot rows of a panel in `n` local columns.
 * @param polls whether a broadcast is looked for between the messages
 */
void hpl_swap_rows(const struct hpl *, const struct hpl_panel *, int64_t n, int polls);

/* @brief Solve the upper triangle. */
void hpl_solve(const struct hpl *);

#endif
