/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HPL: a dense system of equations by LU factorisation with partial pivoting on a grid of processes, in
 * blocks that are dealt cyclically to rows and columns.
 *
 * Described in Petitet, Whaley, Dongarra & Cleary, "HPL: A Portable Implementation of the High-Performance
 * Linpack Benchmark for Distributed-Memory Computers"; peers, sizes and order of messages are those of
 * HPL 2.x.
 */
#include "parts.h"

#include <stdio.h>

static const char *const mappings[] = {"row", "column", NULL};
static const char *const broadcasts[] = {"1ring", "1ringM", "2ring", "2ringM", "long", "longM", NULL};
static const char *const swaps[] = {"binary-exchange", "long", "mix", NULL};
static const char *const variants[] = {"left", "crout", "right", NULL};
static const char *const pivots[] = {"each", "together", "alone", NULL};

static const struct workload_option options[] = {
    [HPL_ORDER] = {"n", "order of the matrix", NULL, 1, 100000000, 1000},
    [HPL_BLOCK] = {"nb", "columns of a block", NULL, 1, 4096, 32},
    [HPL_ROWS] = {"p", "rows of the process grid, 0: as many as make it square, or nearly", NULL, 0,
                  HPL_ROWS_MOST, 0},
    [HPL_COLUMNS] = {"q", "columns of the process grid, 0: what is left", NULL, 0, HPL_ROWS_MOST, 0},
    [HPL_MAPPING] = {"pmap", "order of ranks in the grid", mappings, 0, 1, HPL_ROW_MAJOR},
    [HPL_BROADCAST] = {"bcast", "how panels are passed on", broadcasts, 0, 5, HPL_1RING_M},
    [HPL_DEPTH] = {"depth", "panels that are factored ahead", NULL, 0, 1, 1},
    [HPL_SWAP] = {"swap", "how rows are exchanged", swaps, 0, 2, HPL_MIX},
    [HPL_THRESHOLD] = {"threshold", "columns beyond which mix is long", NULL, 0, 1 << 30, 64},
    [HPL_PANEL] = {"pfact", "factorisation of narrow panels", variants, 0, 2, HPL_RIGHT},
    [HPL_RECURSION] = {"rfact", "recursive factorisation of panels", variants, 0, 2, HPL_CROUT},
    [HPL_STOP] = {"nbmin", "columns at which recursion stops", NULL, 1, 4096, 4},
    [HPL_DIVISOR] = {"ndiv", "parts that recursion makes", NULL, 2, 4096, 2},
    [HPL_EQUILIBRATION] = {"equil", "rows are dealt evenly in long swaps", NULL, 0, 1, 1},
    [HPL_PIVOTS] = {"pivots", "exchanges of pivots: each, together as computation, or alone", pivots, 0, 2,
                    HPL_EACH},
    [HPL_FIRST] = {"first", "the panel that it goes on with", NULL, 0, 1 << 30, 0},
};

static int in_world(const struct hpl *hpl, int rank) {
    (void)hpl;
    return rank;
}

static struct hpl_panel panel_at(const struct hpl *hpl, int64_t number) {
    int64_t j = number * hpl->nb;
    struct hpl_panel panel = {.j = j,
                              .width = (int)hpl_least(hpl->nb, hpl->n - j),
                              .row = (int)(number % hpl->rows),
                              .column = (int)(number % hpl->columns)};
    panel.local_rows = hpl_local(hpl, hpl->n - j, j, hpl->row, hpl->rows);
    panel.below = panel.local_rows - (hpl->row == panel.row ? panel.width : 0);
    /* The right-hand side is one column more. */
    panel.local_columns = hpl_local(hpl, hpl->n + 1 - j, j, hpl->column, hpl->columns) -
                          (hpl->column == panel.column ? panel.width : 0);
    return panel;
}

/* Rows of the panel's diagonal block come from all processes of the column; the rest of the matrix is updated
 * with them. */
static void update(const struct hpl *hpl, struct hpl_panel *panel, int64_t columns,
                   const struct hpl_panel *broadcast) {
    int64_t n = hpl_least(columns, panel->local_columns);
    panel->local_columns -= n;
    if (broadcast != NULL)
        hpl_broadcast_begin(hpl, broadcast);
    if (n <= 0)
        return;
    if (hpl->rows > 1)
        hpl_swap_rows(hpl, panel, n, broadcast != NULL);
    else
        comm_kernel(hpl->comm, COMM_DLASWP00N, panel->width, n, 0);
    if (broadcast != NULL)
        comm_divide(hpl->comm, (int)((n + hpl->nb - 1) / hpl->nb));
    comm_kernel(hpl->comm, COMM_DTRSM, panel->width, n, 0);
    comm_kernel(hpl->comm, COMM_DGEMM, panel->below, n, panel->width);
    if (hpl->rows > 1 && hpl->row == panel->row)
        comm_kernel(hpl->comm, COMM_DLATCPY, panel->width, n, 0);
    if (broadcast != NULL)
        comm_divide(hpl->comm, 0);
}

static void factor(const struct hpl *hpl, const struct hpl_panel *panel) {
    if (hpl->column == panel->column)
        hpl_factor(hpl, panel);
}

static void without_lookahead(const struct hpl *hpl, int64_t first, int64_t end) {
    for (int64_t k = first; k < end; k++) {
        struct hpl_panel panel = panel_at(hpl, k);
        factor(hpl, &panel);
        hpl_broadcast_begin(hpl, &panel);
        hpl_broadcast_end(hpl, &panel);
        update(hpl, &panel, panel.local_columns, NULL);
    }
}

/* Panel k + 1 is updated and factored, and passed on while the rest is updated with panel k. */
static void with_lookahead(const struct hpl *hpl, int64_t first, int64_t end, int64_t panels) {
    struct hpl_panel panel = panel_at(hpl, first == 0 ? 0 : first - 1);
    if (first == 0) {
        factor(hpl, &panel);
        hpl_broadcast_begin(hpl, &panel);
        hpl_broadcast_end(hpl, &panel);
    }
    for (int64_t k = first == 0 ? 1 : first; k < end; k++) {
        struct hpl_panel next = panel_at(hpl, k);
        if (hpl->column == next.column) {
            update(hpl, &panel, next.width, NULL);
            factor(hpl, &next);
        }
        update(hpl, &panel, panel.local_columns, &next);
        hpl_broadcast_end(hpl, &next);
        panel = next;
    }
    if (end == panels)
        update(hpl, &panel, panel.local_columns, NULL);
}

static int64_t panels_of(const int64_t *option) {
    return (option[HPL_ORDER] + option[HPL_BLOCK] - 1) / option[HPL_BLOCK];
}

/* What a panel's pivots cost, of the first panel of each column of processes. */
static void only_pivots(const struct hpl *hpl, int64_t panels) {
    struct hpl_panel panel = panel_at(hpl, hpl->column);
    comm_start_timer(hpl->comm);
    if (hpl->column < panels)
        hpl_factor(hpl, &panel);
    comm_stop_timer(hpl->comm);
}

static void hpl_run(struct comm *comm, const struct problem *problem) {
    const int64_t *option = problem->option;
    struct hpl hpl = {.comm = comm, .option = option, .n = option[HPL_ORDER], .nb = option[HPL_BLOCK]};
    hpl_shape(option, comm->size, &hpl.rows, &hpl.columns);
    int row_major = option[HPL_MAPPING] == HPL_ROW_MAJOR;
    hpl.row = row_major ? comm->rank / hpl.columns : comm->rank % hpl.rows;
    hpl.column = row_major ? comm->rank % hpl.columns : comm->rank / hpl.rows;
    int64_t panels = panels_of(option), first = option[HPL_FIRST];
    int64_t end = hpl_least(panels, first + problem->iterations);
    if (option[HPL_PIVOTS] == HPL_ALONE)
        return only_pivots(&hpl, panels);
    if (first == 0) {
        hpl_tree_reduce(&hpl, in_world, comm->size, comm->rank, COMM_INT, 3); /* whether all have memory */
        hpl_tree_broadcast(&hpl, in_world, comm->size, comm->rank, 0, COMM_INT, 3);
        hpl_tree_broadcast(&hpl, in_world, comm->size, comm->rank, 0, COMM_INT, 1); /* its barrier */
    }
    comm_start_timer(comm);
    if (option[HPL_DEPTH] == 0 || hpl.columns == 1)
        without_lookahead(&hpl, first, end);
    else
        with_lookahead(&hpl, first, end, panels);
    if (end == panels)
        hpl_solve(&hpl);
    comm_stop_timer(comm);
    if (end == panels) {
        hpl_tree_reduce(&hpl, in_world, comm->size, comm->rank, COMM_DOUBLE, 1); /* the time */
        hpl_tree_broadcast(&hpl, in_world, comm->size, comm->rank, 0, COMM_DOUBLE, 1);
    }
}

static int hpl_iterations(const struct problem *problem) {
    int64_t left = panels_of(problem->option) - problem->option[HPL_FIRST];
    return left > 1 ? (int)left : 1;
}

static void hpl_grid(const struct problem *problem, int ranks, int grid[3]) {
    hpl_shape(problem->option, ranks, &grid[0], &grid[1]);
    grid[2] = 1;
}

static int hpl_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    const int64_t *option = problem->option;
    int rows, columns;
    hpl_shape(option, ranks, &rows, &columns);
    if ((long long)rows * columns != ranks) {
        snprintf(why, why_bytes, "hpl on a grid of %dx%d runs on %lld ranks, not on `%d`", rows, columns,
                 (long long)rows * columns, ranks);
        return 0;
    }
    if (rows > HPL_ROWS_MOST || columns > HPL_ROWS_MOST) {
        snprintf(why, why_bytes, "hpl on `%d` ranks has a grid of %dx%d, of at most %d in each direction",
                 ranks, rows, columns, HPL_ROWS_MOST);
        return 0;
    }
    if (option[HPL_FIRST] >= panels_of(option)) {
        snprintf(why, why_bytes, "hpl of order %lld has the panels 0 to %lld, not `%lld`",
                 (long long)option[HPL_ORDER], (long long)(panels_of(option) - 1),
                 (long long)option[HPL_FIRST]);
        return 0;
    }
    return 1;
}

const struct workload workload_hpl = {
    .name = "hpl",
    .title = "High-Performance Linpack: a dense system of equations",
    .pattern = "panels along rows of the process grid, pivots and rows within its columns",
    .classes = "",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .iterations = hpl_iterations,
    .grid = hpl_grid,
    .accepts = hpl_accepts,
    .run = hpl_run,
};
