/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that several parts of HPL have. */
#include "parts.h"

void hpl_exchange(const struct hpl *hpl, int partner, int tag, int64_t sent, int64_t received) {
    struct comm *c = hpl->comm;
    if (received > 0 && sent > 0) {
        int request = comm_irecv(c, partner, tag, COMM_DOUBLE, received, received);
        comm_send(c, partner, tag, COMM_DOUBLE, sent);
        comm_wait(c, request);
    } else if (received > 0) {
        comm_recv(c, partner, tag, COMM_DOUBLE, received, received);
    } else if (sent > 0) {
        comm_send(c, partner, tag, COMM_DOUBLE, sent);
    }
}

void hpl_tree_broadcast(const struct hpl *hpl, int (*rank_of)(const struct hpl *, int), int members, int mine,
                        int root, enum comm_type type, int64_t count) {
    int distance = hpl_modulo(mine - root, members);
    for (int bit = 1 << log2_floor(members > 1 ? members - 1 : 1); members > 1 && bit > 0; bit >>= 1) {
        int partner = distance ^ bit;
        if ((distance & (bit - 1)) != 0 || partner >= members)
            continue;
        int peer = rank_of(hpl, (partner + root) % members);
        if (distance & bit)
            comm_recv(hpl->comm, peer, HPL_TAG_COLLECTIVE, type, count, count);
        else
            comm_send(hpl->comm, peer, HPL_TAG_COLLECTIVE, type, count);
    }
}

void hpl_tree_reduce(const struct hpl *hpl, int (*rank_of)(const struct hpl *, int), int members, int mine,
                     enum comm_type type, int64_t count) {
    for (int bit = 1; members > 1 && bit < members; bit <<= 1) {
        int partner = mine ^ bit;
        if ((mine & (bit - 1)) != 0 || partner >= members)
            continue;
        if (mine & bit)
            comm_send(hpl->comm, rank_of(hpl, partner), HPL_TAG_COLLECTIVE, type, count);
        else
            comm_recv(hpl->comm, rank_of(hpl, partner), HPL_TAG_COLLECTIVE, type, count, count);
    }
}
