/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows and columns of the matrix a process of the grid has, and which rank it is. */
#include "parts.h"

/* The largest divisor that is no larger than the root. */
static int nearly_root(int ranks) {
    int root = 1;
    for (int row = 1; row <= ranks / row; row++)
        if (ranks % row == 0)
            root = row;
    return root;
}

static int shared_by(int ranks, int others) {
    return ranks > others ? ranks / others : 1;
}

void hpl_shape(const int64_t *option, int ranks, int *rows, int *columns) {
    *rows = (int)option[HPL_ROWS];
    *columns = (int)option[HPL_COLUMNS];
    if (*rows == 0)
        *rows = *columns > 0 ? shared_by(ranks, *columns) : nearly_root(ranks);
    if (*columns == 0)
        *columns = shared_by(ranks, *rows);
}

int64_t hpl_local(const struct hpl *hpl, int64_t count, int64_t first, int process, int processes) {
    /* Of rows 0 .. k - 1 the process has whole blocks, and maybe the last one. */
    int64_t had[2];
    for (int i = 0; i < 2; i++) {
        int64_t k = i == 0 ? first : first + count, blocks = k / hpl->nb, rest = k % hpl->nb;
        had[i] = (blocks / processes + (process < blocks % processes)) * hpl->nb +
                 (process == blocks % processes ? rest : 0);
    }
    return had[1] - had[0];
}

static int at(const struct hpl *hpl, int row, int column) {
    return hpl->option[HPL_MAPPING] == HPL_ROW_MAJOR ? row * hpl->columns + column : column * hpl->rows + row;
}

int hpl_in_column(const struct hpl *hpl, int row) {
    return at(hpl, row, hpl->column);
}

int hpl_in_row(const struct hpl *hpl, int column) {
    return at(hpl, hpl->row, column);
}
