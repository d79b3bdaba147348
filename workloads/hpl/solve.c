/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Back substitution (HPL_pdtrsv): from the last block to the first, a block of the solution goes up its
 * column, with which the next Q - 1 blocks of the right-hand side are updated at once and passed on to the
 * next column, the rest later.
 */
#include "parts.h"

/* Rows first .. first + count - 1 on this process; the first ones left out are not there. */
static int64_t of_next(const struct hpl *hpl, int64_t n, int64_t ahead) {
    int64_t count = hpl_least(n, ahead);
    return count > 0 ? hpl_local(hpl, count, n - count, hpl->row, hpl->rows) : 0;
}

void hpl_solve(const struct hpl *hpl) {
    struct comm *c = hpl->comm;
    int rows = hpl->rows, columns = hpl->columns;
    int64_t n = hpl->n, nb = hpl->nb, last = (n - 1) / nb, width = n - last * nb;
    int64_t ahead = columns > 2 ? (columns - 1) * nb : nb;
    int64_t local = hpl_local(hpl, n, 0, hpl->row, rows);
    int row = (int)(last % rows), column = (int)(last % columns), right_hand_side = (int)(n / nb % columns);
    if (local > 0 && column != right_hand_side) {
        if (hpl->column == right_hand_side)
            comm_send(c, hpl_in_row(hpl, column), HPL_TAG_SOLVE, COMM_DOUBLE, local);
        else if (hpl->column == column)
            comm_recv(c, hpl_in_row(hpl, right_hand_side), HPL_TAG_SOLVE, COMM_DOUBLE, local, local);
    }
    if (hpl->row == row)
        local -= width;
    if (hpl->row == row && hpl->column == column)
        comm_kernel(c, COMM_DTRSV, width, 0, 0);
    n -= width;
    int64_t next = of_next(hpl, n, ahead);
    int previous_row = row, previous_column = column;
    while (n > 0) {
        int up = hpl_modulo(hpl->row - 1, rows), below = (hpl->row + 1) % rows;
        int64_t local_before = local;
        row = hpl_modulo(previous_row - 1, rows);
        column = hpl_modulo(previous_column - 1, columns);
        if (hpl->row == row)
            local -= nb;
        if (hpl->column == previous_column) {
            if (hpl->row == previous_row && rows > 1)
                comm_send(c, hpl_in_column(hpl, up), HPL_TAG_SOLVE, COMM_DOUBLE, width);
            else if (hpl->row != previous_row)
                comm_recv(c, hpl_in_column(hpl, below), HPL_TAG_SOLVE, COMM_DOUBLE, width, width);
            if (next > 0) {
                comm_kernel(c, COMM_DGEMV, next, width, 0);
                if (columns > 1)
                    comm_send(c, hpl_in_row(hpl, column), HPL_TAG_SOLVE, COMM_DOUBLE, next);
            }
            if (hpl->row != previous_row && hpl->row != (previous_row + 1) % rows)
                comm_send(c, hpl_in_column(hpl, up), HPL_TAG_SOLVE, COMM_DOUBLE, width);
        } else if (hpl->column == column && next > 0) {
            comm_recv(c, hpl_in_row(hpl, previous_column), HPL_TAG_SOLVE, COMM_DOUBLE, next, next);
            comm_kernel(c, COMM_DAXPY, next, 0, 0);
        }
        if (hpl->column == column && hpl->row == row)
            comm_kernel(c, COMM_DTRSV, nb, 0, 0);
        if (hpl->column == previous_column && local_before > next)
            comm_kernel(c, COMM_DGEMV, local_before - next, width, 0);
        previous_row = row;
        previous_column = column;
        width = nb;
        n -= nb;
        next = of_next(hpl, n, ahead);
    }
    if (hpl->column == previous_column)
        hpl_tree_broadcast(hpl, hpl_in_column, rows, hpl->row, previous_row, COMM_DOUBLE, width);
}
