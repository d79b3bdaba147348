/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange of pivot rows: the rows of a panel's diagonal block become those that were chosen, on all
 * processes of a column of the grid, and each gets what it gave them in return.
 *
 * How many rows come from where depends on the matrix. Taken is that each row below is chosen as often.
 */
#include "parts.h"

#include <string.h>

struct swap {
    const struct hpl *hpl;
    const struct hpl_panel *panel;
    int64_t n; /* columns */
    int polls;
};

static void look(const struct swap *s) {
    if (s->polls)
        comm_poll(s->hpl->comm);
}

static void copy(const struct swap *s, enum comm_kernel kernel, int64_t rows) {
    if (rows > 0)
        comm_kernel(s->hpl->comm, kernel, rows, s->n, 0);
}

/* Pivot rows of the processes at distances 0 .. end - 1 from the current one: shares of them as the rows that
 * are left, rounded so that none is lost and, panel after panel, every process has its turn. */
static int64_t pivots_up_to(const struct hpl *hpl, const struct hpl_panel *panel, int end) {
    int64_t all = hpl->n - panel->j, blocks = (all + hpl->nb - 1) / hpl->nb, more = blocks % hpl->rows;
    if (end <= 0)
        return 0;
    if (end >= hpl->rows)
        return panel->width;
    int64_t rows = (blocks / hpl->rows * end + hpl_least(more, end)) * hpl->nb;
    int64_t shift = panel->j / hpl->nb % hpl->rows * all / hpl->rows;
    return hpl_least((hpl_least(rows, all) * panel->width + shift) / all, panel->width);
}

/* Binary exchange (HPL_pdlaswp00T): at each stage pairs of processes have the rows of both. A process that
 * has rows for the block sends them with the columns' global index: n + 1 doubles a row. */
struct exchange {
    int current, stages, power, others; /* processes beyond the first 2^stages */
    int mine, peer;
    int64_t all, each; /* doubles of the block's rows, of one row */
};

/* Rows for the block that those at some distances have, once those beyond the power of two gave them theirs.
 */
static int64_t held(const struct swap *s, const struct exchange *e, int begin, int end) {
    const struct hpl *hpl = s->hpl;
    int first = begin > 1 ? begin : 1; /* the current process has none to send */
    int64_t own = pivots_up_to(hpl, s->panel, end) - pivots_up_to(hpl, s->panel, first);
    int last = end < e->others ? end : e->others;
    if (last <= first || begin >= e->power)
        return end > first ? own : 0;
    return own + pivots_up_to(hpl, s->panel, last + e->power) - pivots_up_to(hpl, s->panel, first + e->power);
}

static int64_t held_alone(const struct swap *s, int distance) {
    if (distance == 0)
        return 0;
    return pivots_up_to(s->hpl, s->panel, distance + 1) - pivots_up_to(s->hpl, s->panel, distance);
}

/* Those beyond the power of two give their rows; the first of them has the block's rows for it. */
static void fold(const struct swap *s, const struct exchange *e) {
    int partner = e->mine ^ e->power;
    int64_t given = held_alone(s, e->mine & e->power ? e->mine : partner) * e->each;
    if (partner >= s->hpl->rows)
        return;
    int is_first = e->mine == 0 || e->mine == e->power;
    if (e->mine & e->power)
        hpl_exchange(s->hpl, e->peer, HPL_TAG_SWAP, given, is_first ? e->all : 0);
    else
        hpl_exchange(s->hpl, e->peer, HPL_TAG_SWAP, is_first ? e->all : 0, given);
    if (e->mine == 0)
        copy(s, COMM_DLASWP03T, held_alone(s, partner));
}

static void exchange_in_pairs(const struct swap *s, const struct exchange *e) {
    const struct hpl *hpl = s->hpl;
    for (int k = 0; k < e->stages; k++) {
        int bit = 1 << k, other = e->mine ^ bit, group = e->mine & ~(bit - 1),
            others_group = other & ~(bit - 1);
        int64_t mine = held(s, e, group, group + bit), theirs = held(s, e, others_group, others_group + bit);
        int rank = hpl_in_column(hpl, (other + e->current) % hpl->rows);
        if (e->mine >> k == 0) {
            hpl_exchange(hpl, rank, HPL_TAG_SWAP, e->all, theirs * e->each);
            copy(s, COMM_DLASWP03T, theirs);
        } else if (e->mine >> k == 1) {
            hpl_exchange(hpl, rank, HPL_TAG_SWAP, mine * e->each, e->all);
            copy(s, COMM_DLASWP04T, mine);
        } else {
            hpl_exchange(hpl, rank, HPL_TAG_SWAP, mine * e->each, theirs * e->each);
        }
        look(s);
    }
}

/* Those beyond the power of two pass the block's rows on from the first of them. */
static void pass_on(const struct swap *s, const struct exchange *e) {
    int distance = e->mine - e->power;
    for (int bit = e->others > 1 ? 1 << log2_floor(e->others - 1) : 0; bit > 0; bit >>= 1) {
        int other = distance ^ bit;
        if ((distance & (bit - 1)) == 0 && other < e->others)
            hpl_exchange(s->hpl, hpl_in_column(s->hpl, (other + e->power + e->current) % s->hpl->rows),
                         HPL_TAG_SWAP, distance & bit ? 0 : e->all, distance & bit ? e->all : 0);
        look(s);
    }
    copy(s, COMM_DLASWP05T, held_alone(s, e->mine));
}

static void binary_exchange(const struct swap *s) {
    const struct hpl *hpl = s->hpl;
    struct exchange e = {.current = s->panel->row, .stages = log2_floor(hpl->rows)};
    e.power = 1 << e.stages;
    e.others = hpl->rows - e.power;
    e.mine = hpl_modulo(hpl->row - e.current, hpl->rows);
    e.peer = hpl_in_column(hpl, ((e.mine ^ e.power) + e.current) % hpl->rows);
    e.all = s->n * s->panel->width;
    e.each = s->n + 1;
    if (e.mine == 0)
        copy(s, COMM_DLASWP01T, s->panel->width + pivots_up_to(hpl, s->panel, 1));
    else
        copy(s, COMM_DLASWP02N, held_alone(s, e.mine));
    look(s);
    fold(s, &e);
    look(s);
    if (e.mine < e.power)
        exchange_in_pairs(s, &e);
    else
        pass_on(s, &e);
    if ((e.mine ^ e.power) < hpl->rows)
        hpl_exchange(hpl, e.peer, HPL_TAG_SWAP, e.mine & e.power ? 0 : e.all, e.mine & e.power ? e.all : 0);
    look(s);
}

/* Long: the processes are put in an order in which those with many rows are near the root of the tree; the
 * current one spreads its rows, pieces are made even, and then roll from neighbour to neighbour. */
struct order {
    int64_t begin[HPL_ROWS_MOST + 1]; /* rows before the piece of each place, and their number at the end */
    int process[HPL_ROWS_MOST];       /* at a place */
    int place;                        /* of this process */
};

static void exchange_places(struct order *o, int a, int b) {
    int64_t length = o->begin[a + 1];
    int process = o->process[a];
    o->begin[a + 1] = o->begin[b + 1];
    o->begin[b + 1] = length;
    o->process[a] = o->process[b];
    o->process[b] = process;
}

/* Where pieces begin, from their lengths at begin[place + 1] (HPL_logsort). */
static void put_in_order(const struct swap *s, struct order *o) {
    int rows = s->hpl->rows, most = 0;
    for (int i = 0; i < rows; i++) {
        int bits = __builtin_popcount((unsigned)i);
        most = bits > most ? bits : most;
    }
    for (int bits = 1; bits <= most; bits++)
        for (int j = 1; j < rows; j++)
            for (int i = 2; i < rows && __builtin_popcount((unsigned)j) == bits; i++)
                if (bits < __builtin_popcount((unsigned)i) && o->begin[j + 1] < o->begin[i + 1])
                    exchange_places(o, j, i);
    o->begin[0] = 0;
    for (int i = 0; i < rows; i++) {
        if (o->process[i] == s->hpl->row)
            o->place = i;
        o->begin[i + 1] += o->begin[i];
    }
}

/* Places source .. last: pieces of `begin` go down a tree from the source, upwards or downwards
 * (HPL_spreadT). */
static void spread_pieces(const struct swap *s, const struct order *o, const int64_t *begin, int source,
                          int downwards) {
    const struct hpl *hpl = s->hpl;
    int members = downwards ? source + 1 : hpl->rows - source;
    int mine = downwards ? source - o->place : o->place - source;
    if (mine < 0 || members == 1)
        return;
    for (int bit = 1 << log2_floor(members - 1); bit > 0; bit >>= 1) {
        int partner = mine ^ bit;
        if ((mine & (bit - 1)) == 0 && partner < members) {
            int first = mine | bit, end = (int)hpl_least(first + bit, members);
            int lowest =
                (int)hpl_least(first + bit, source); /* downwards the original sends one place more */
            int64_t doubles = downwards ? begin[source - first + 1] - begin[source - lowest]
                                        : begin[source + end] - begin[source + first];
            int peer = hpl_in_column(hpl, o->process[downwards ? source - partner : source + partner]);
            hpl_exchange(hpl, peer, HPL_TAG_SWAP, mine & bit ? 0 : doubles * s->n,
                         mine & bit ? doubles * s->n : 0);
        }
        look(s);
    }
}

/* Each place is to have as many rows as the others: those with more spread what is too much (HPL_equil). */
static void make_even(const struct swap *s, struct order *o) {
    int rows = s->hpl->rows, even = 1;
    int64_t all = o->begin[rows], least = all / rows, more = all % rows;
    if (rows <= 2)
        return;
    for (int i = 0; i < rows - 1; i++) { /* the original does not look at the last one */
        int64_t length = o->begin[i + 1] - o->begin[i];
        even &= length == least || length == least + (more > 0);
    }
    if (even)
        return;
    int64_t target[rows + 1], piece[rows + 1];
    for (int i = 0; i <= rows; i++)
        target[i] = i * least + hpl_least(i, more);
    for (int source = 0; source < rows; source++) {
        int64_t begin = o->begin[source], end = o->begin[source + 1];
        int left = begin < target[source], right = target[source + 1] < end;
        if (end == begin || !(left || right))
            continue;
        /* What of it lies in each target. */
        for (int i = 0; i <= rows; i++)
            piece[i] = target[i] < begin ? begin : hpl_least(target[i], end);
        if (left)
            spread_pieces(s, o, piece, source, 1);
        if (right)
            spread_pieces(s, o, piece, source, 0);
    }
    memcpy(o->begin, target, sizeof target);
}

static void roll(const struct swap *s, const struct order *o) {
    const struct hpl *hpl = s->hpl;
    int rows = hpl->rows;
    for (int k = 0; k < rows - 1; k++) {
        int down = (o->place + k) & 1, away = k / 2;
        int sent = hpl_modulo(down ? o->place + away : o->place - away, rows);
        int received = hpl_modulo(down ? o->place - away - 1 : o->place + away + 1, rows);
        int partner = o->process[hpl_modulo(down ? o->place - 1 : o->place + 1, rows)];
        hpl_exchange(hpl, hpl_in_column(hpl, partner), HPL_TAG_SWAP,
                     (o->begin[sent + 1] - o->begin[sent]) * s->n,
                     (o->begin[received + 1] - o->begin[received]) * s->n);
        look(s);
    }
}

static void spread_and_roll(const struct swap *s) {
    const struct hpl *hpl = s->hpl;
    struct order order;
    int64_t own = 0;
    for (int i = 0; i < hpl->rows; i++) {
        order.process[i] = (i + s->panel->row) % hpl->rows;
        order.begin[i + 1] = pivots_up_to(hpl, s->panel, i + 1) - pivots_up_to(hpl, s->panel, i);
        if (order.process[i] == hpl->row)
            own = order.begin[i + 1];
    }
    put_in_order(s, &order);
    if (hpl->row == s->panel->row)
        copy(s, COMM_DLASWP01T, s->panel->width + own);
    spread_pieces(s, &order, order.begin, 0, 0);
    if (hpl->row != s->panel->row)
        copy(s, COMM_DLASWP06T, own);
    if (hpl->option[HPL_EQUILIBRATION])
        make_even(s, &order);
    roll(s, &order);
    copy(s, COMM_DLASWP10N, s->panel->width);
}

void hpl_swap_rows(const struct hpl *hpl, const struct hpl_panel *panel, int64_t n, int polls) {
    struct swap s = {hpl, panel, n, polls};
    int64_t swap = hpl->option[HPL_SWAP];
    if (swap == HPL_SPREAD_ROLL || (swap == HPL_MIX && n > hpl->option[HPL_THRESHOLD]))
        spread_and_roll(&s);
    else
        binary_exchange(&s);
}
