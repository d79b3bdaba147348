/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The factorisation of a panel within a column of the process grid.
 *
 * Columns are halved (or divided by NDIV) recursively until NBMIN are left; for each single column all
 * processes exchange the largest element, its row and the current row: binary exchange among the first 2^k
 * processes from the current row on, with which the others swap before and from which they hear after.
 */
#include "parts.h"

static const int with_row =
    4; /* doubles of a candidate beside its row: value, local and global index, process */

/* The exchange of one column (HPL_pdmxswp). */
static void exchange_pivot(const struct hpl *hpl, const struct hpl_panel *panel) {
    int rows = hpl->rows, stages = log2_floor(rows), power = 1 << stages, others = rows - power;
    int mine = hpl_modulo(hpl->row - panel->row, rows), width = panel->width;
    int candidate = width + with_row, both = candidate + width;
    int partner = mine ^ power;
    int peer = hpl_in_column(hpl, (partner + panel->row) % rows);
    if (partner < rows) {
        int is_first = mine == 0 || mine == power; /* it has or wants the current row */
        if (mine & power)
            hpl_exchange(hpl, peer, HPL_TAG_PIVOT, candidate, is_first ? width : 0);
        else
            hpl_exchange(hpl, peer, HPL_TAG_PIVOT, is_first ? width : 0, candidate);
    }
    if (mine < power) {
        for (int k = 0; k < stages; k++) {
            int sends_both = mine >> k == 0, hears_both = mine >> k == 1;
            hpl_exchange(hpl, hpl_in_column(hpl, ((mine ^ (1 << k)) + panel->row) % rows), HPL_TAG_PIVOT,
                         sends_both ? both : candidate, hears_both ? both : candidate);
        }
    } else if (others > 1) {
        int distance = mine - power;
        for (int bit = 1 << log2_floor(others - 1); bit > 0; bit >>= 1) {
            int other = distance ^ bit;
            if ((distance & (bit - 1)) != 0 || other >= others)
                continue;
            int rank = hpl_in_column(hpl, (other + power + panel->row) % rows);
            hpl_exchange(hpl, rank, HPL_TAG_PIVOT, distance & bit ? 0 : width, distance & bit ? width : 0);
        }
    }
    if (partner < rows)
        hpl_exchange(hpl, peer, HPL_TAG_PIVOT, mine & power ? 0 : candidate, mine & power ? candidate : 0);
}

/* A panel while it is factored; rows are counted as they are at its column `done`. */
struct factoring {
    const struct hpl *hpl;
    const struct hpl_panel *panel;
    int each; /* columns are exchanged one by one */
};

static int64_t rows_at(const struct factoring *f, int column) {
    int current = f->hpl->row == f->panel->row;
    return f->panel->local_rows - (current ? column : 0);
}

static void kernel(const struct factoring *f, enum comm_kernel kernel, int64_t m, int64_t n, int64_t k) {
    int is_product = kernel == COMM_DGEMM,
        has_columns = is_product || kernel == COMM_DTRSM || kernel == COMM_DLATCPY;
    if (m > 0 && (n > 0 || !has_columns) && (k > 0 || !is_product))
        comm_kernel(f->hpl->comm, kernel, m, n, k);
}

/* Columns first .. first + n - 1, one by one. */
static void factor_columns(const struct factoring *f, int n, int first) {
    int variant = (int)f->hpl->option[HPL_PANEL], current = f->hpl->row == f->panel->row;
    kernel(f, COMM_IDAMAX, rows_at(f, first), 0, 0);
    for (int i = 0; i < n; i++) {
        int column = first + i, right = n - 1 - i;
        int64_t below = rows_at(f, column) - (current ? 1 : 0);
        kernel(f, COMM_DCOPY, f->panel->width, current ? 2 : 1, 0);
        if (f->each)
            exchange_pivot(f->hpl, f->panel);
        kernel(f, COMM_DCOPY, f->panel->width, 1, 0);
        if (right > 0 && variant == HPL_LEFT)
            kernel(f, COMM_DTRSV, i + 1, 0, 0);
        if (right > 0 && variant == HPL_CROUT && i > 0)
            kernel(f, COMM_DGEMV, right, i, 0);
        kernel(f, COMM_DSCAL, below, 0, 0);
        if (right == 0)
            break;
        if (variant == HPL_RIGHT)
            kernel(f, COMM_DAXPY, below, 0, 0);
        else
            kernel(f, COMM_DGEMV, below, i + 1, 0);
        kernel(f, COMM_IDAMAX, below, 0, 0);
        if (variant == HPL_RIGHT && right > 1)
            kernel(f, COMM_DGER, below, right - 1, 0);
    }
}

static void factor_recursively(struct factoring *f, int n, int first) {
    int stop = (int)f->hpl->option[HPL_STOP], divisor = (int)f->hpl->option[HPL_DIVISOR];
    int variant = (int)f->hpl->option[HPL_RECURSION], current = f->hpl->row == f->panel->row;
    if (n <= stop) {
        factor_columns(f, n, first);
        return;
    }
    int part = ((n + stop - 1) / stop + divisor - 1) / divisor * stop;
    for (int done = 0; done < n;) {
        int width = n - done < part ? n - done : part, right = n - done - width;
        int64_t rows = rows_at(f, first + done);
        if (variant == HPL_LEFT)
            kernel(f, COMM_DTRSM, done, width, 0);
        if (variant != HPL_RIGHT)
            kernel(f, COMM_DGEMM, rows, width, done);
        factor_recursively(f, width, first + done);
        if (variant == HPL_CROUT && right > 0)
            kernel(f, COMM_DGEMM, right, width, done);
        if (variant != HPL_LEFT && (variant == HPL_RIGHT || right > 0))
            kernel(f, COMM_DTRSM, width, right, 0);
        if (variant == HPL_RIGHT)
            kernel(f, COMM_DGEMM, rows_at(f, first + done + width), right, width);
        if (current)
            kernel(f, COMM_DLATCPY, first + done, width, 0);
        done += width;
    }
}

void hpl_factor(const struct hpl *hpl, const struct hpl_panel *panel) {
    int64_t pivots = hpl->option[HPL_PIVOTS];
    struct factoring f = {.hpl = hpl, .panel = panel, .each = pivots == HPL_EACH && hpl->rows > 1};
    if (pivots == HPL_ALONE) {
        for (int i = 0; i < panel->width; i++)
            exchange_pivot(hpl, panel);
        return;
    }
    factor_recursively(&f, panel->width, 0);
    if (pivots == HPL_TOGETHER && hpl->rows > 1) {
        /* Every column ends with all processes having waited for each other; so does the whole with the last
         * one. */
        comm_kernels(hpl->comm, COMM_PIVOT, panel->width, hpl->rows, 0, panel->width - 1);
        exchange_pivot(hpl, panel);
    }
}
