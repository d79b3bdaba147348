/* SPDX-License-Identifier: BSD-3-Clause */
/* How a panel comes to all columns of the process grid. */
#include "parts.h"

/* Doubles of a panel: what is below the diagonal block, that block, its pivots and a status. */
static int64_t length_of(const struct hpl_panel *panel) {
    int64_t width = panel->width;
    return panel->below * width + width * width + width + 1;
}

static void send_to(const struct hpl *hpl, int column, int64_t length) {
    comm_send(hpl->comm, hpl_in_row(hpl, column), HPL_TAG_BROADCAST, COMM_DOUBLE, length);
}

/* Rings: each column passes the panel on to the next one, the root begins one or two rings; in the modified
 * ones the root sends to its next column first, which passes on nothing as it has the next panel to factor.
 */
static void ring(const struct hpl *hpl, const struct hpl_panel *panel, int rings, int modified) {
    int size = hpl->columns, root = panel->column, mine = hpl_modulo(hpl->column - root, size);
    int second = rings == 2 ? (size + 1) / 2 : size; /* distance at which the second ring begins */
    int64_t length = length_of(panel);
    if (mine == 0) {
        send_to(hpl, (root + 1) % size, length);
        if (modified && size > 2 && second != 2)
            send_to(hpl, (root + 2) % size, length);
        if (rings == 2 && size > 2)
            send_to(hpl, (root + second) % size, length);
        return;
    }
    int from_root = mine == 1 || mine == second || (modified && mine == 2);
    int passes_on = mine + 1 != second && mine + 1 != size && !(modified && mine == 1);
    comm_relay(hpl->comm, hpl_in_row(hpl, from_root ? root : hpl_modulo(hpl->column - 1, size)),
               passes_on ? hpl_in_row(hpl, (hpl->column + 1) % size) : -1, HPL_TAG_BROADCAST, COMM_DOUBLE,
               length);
}

/* Part `index` of a panel in `parts`, the last one with the rest. */
static int64_t part(int64_t length, int parts, int index) {
    int64_t each = length / parts > 1 ? length / parts : 1, begin = index * each;
    int64_t end = index == parts - 1 ? length : hpl_least(length, begin + each);
    return end > begin ? end - begin : 0;
}

/* Spread and roll: halves of the panel go down a tree, then pieces from neighbour to neighbour, both ways in
 * turn. */
static void spread_and_roll(const struct hpl *hpl, int64_t length, int members, int mine,
                            const int *column_of) {
    struct comm *c = hpl->comm;
    for (int bit = 1 << log2_floor(members > 1 ? members - 1 : 1); bit > 0; bit >>= 1) {
        int partner = mine ^ bit;
        if ((mine & (bit - 1)) != 0 || partner >= members)
            continue;
        int64_t each = length / members > 1 ? length / members : 1;
        int first = mine | bit; /* of the pieces that go to the upper one */
        int64_t doubles = length - first * each;
        if (first + bit < members)
            doubles = hpl_least(doubles, bit * each);
        enum comm_type type = doubles > 0 ? COMM_DOUBLE : COMM_BYTE;
        doubles = doubles > 0 ? doubles : 0;
        if (mine & bit)
            comm_recv(c, hpl_in_row(hpl, column_of[partner]), HPL_TAG_BROADCAST, type, doubles, doubles);
        else
            comm_ssend(c, hpl_in_row(hpl, column_of[partner]), HPL_TAG_BROADCAST, type, doubles);
    }
    for (int k = 0; k < members - 1; k++) {
        int down = (mine + k) & 1, away = k / 2;
        int partner = hpl_modulo(down ? mine - 1 : mine + 1, members);
        int64_t sent = part(length, members, hpl_modulo(down ? mine + away : mine - away, members));
        int64_t received =
            part(length, members, hpl_modulo(down ? mine - away - 1 : mine + away + 1, members));
        int peer = hpl_in_row(hpl, column_of[partner]);
        int request = comm_issend(c, peer, HPL_TAG_BROADCAST, sent > 0 ? COMM_DOUBLE : COMM_BYTE, sent);
        comm_recv(c, peer, HPL_TAG_BROADCAST, received > 0 ? COMM_DOUBLE : COMM_BYTE, received, received);
        comm_wait(c, request);
    }
}

/* Modified: the next column has the whole panel first and takes no part in the rest. */
static void spread(const struct hpl *hpl, const struct hpl_panel *panel, int modified) {
    int size = hpl->columns, root = panel->column, mine = hpl_modulo(hpl->column - root, size);
    int64_t length = length_of(panel);
    int column_of[size];
    if (modified) {
        int next = hpl_in_row(hpl, (root + 1) % size);
        if (mine == 0)
            comm_ssend(hpl->comm, next, HPL_TAG_BROADCAST, COMM_DOUBLE, length);
        else if (mine == 1)
            comm_recv(hpl->comm, hpl_in_row(hpl, root), HPL_TAG_BROADCAST, COMM_DOUBLE, length, length);
        if (mine == 1 || size == 2)
            return;
    }
    int skipped = modified ? 1 : 0;
    for (int i = 0; i < size - skipped; i++)
        column_of[i] = (root + (i == 0 ? 0 : i + skipped)) % size;
    spread_and_roll(hpl, length, size - skipped, mine == 0 ? 0 : mine - skipped, column_of);
}

void hpl_broadcast_begin(const struct hpl *hpl, const struct hpl_panel *panel) {
    if (hpl->columns == 1)
        return;
    int topology = (int)hpl->option[HPL_BROADCAST];
    if (topology == HPL_LONG || topology == HPL_LONG_M)
        spread(hpl, panel, topology == HPL_LONG_M);
    else
        ring(hpl, panel, topology == HPL_2RING || topology == HPL_2RING_M ? 2 : 1,
             topology == HPL_1RING_M || topology == HPL_2RING_M);
}

void hpl_broadcast_end(const struct hpl *hpl, const struct hpl_panel *panel) {
    (void)panel;
    comm_finish_relay(hpl->comm);
}
