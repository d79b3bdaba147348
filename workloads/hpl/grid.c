/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rows and columns of the matrix a process of the grid has, and which rank it is. */
#include "parts.h"

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
