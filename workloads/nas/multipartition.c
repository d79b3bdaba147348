/* SPDX-License-Identifier: BSD-3-Clause */
#include "multipartition.h"

#include "nas.h"

enum { DIMENSIONS = MULTIPARTITION_DIMENSIONS, LAYERS = 2, LEAST_POINTS = 3 };

/* Of messages to the successor and to the predecessor in each dimension: east, west; north, south; top,
 * bottom. */
static const int up_tag[DIMENSIONS] = {2000, 4000, 7000}, down_tag[DIMENSIONS] = {3000, 5000, 6000};

int multipartition_most_ranks(int points) {
    int cells = points / LEAST_POINTS;
    return cells * cells;
}

void multipartition_grid(int ranks, int grid[3]) {
    grid[0] = grid[1] = nas_root(ranks);
    grid[2] = 1;
}

/* Doubles of the two layers of a cell's face across a dimension. */
static int64_t face(const struct cell *cell, int dimension) {
    return LAYERS * MULTIPARTITION_UNKNOWNS * cell->size[(dimension + 1) % DIMENSIONS] *
           cell->size[(dimension + 2) % DIMENSIONS];
}

void multipartition_set_up(struct multipartition *m, struct comm *comm, int group, int points) {
    int p = nas_root(comm->size), x = comm->rank % p, y = comm->rank / p;
    *m = (struct multipartition){
        .comm = comm,
        .cells = p,
        .successor = {(x + 1) % p + p * y, x + p * ((y + 1) % p), (x - 1 + p) % p + p * ((y + 1) % p)},
        .predecessor = {(x - 1 + p) % p + p * y, x + p * ((y - 1 + p) % p),
                        (x + 1) % p + p * ((y - 1 + p) % p)}};
    m->for_sweeps = comm_dup(comm, group);
    m->for_faces = comm_dup(comm, group);
    comm_messages_on(comm, m->for_sweeps);
    for (int c = 0; c < p; c++) {
        struct cell *cell = &m->cell[c];
        const int place[DIMENSIONS] = {(x + c) % p, (y - c + p) % p, c};
        cell->share = 1;
        for (int d = 0; d < DIMENSIONS; d++) {
            cell->place[d] = place[d];
            cell->size[d] = points / p + (place[d] < points % p);
            cell->share *= (double)cell->size[d] / points;
            m->layer[d][place[d]] = c;
        }
        m->share += cell->share;
        for (int d = 0; d < DIMENSIONS; d++) {
            m->up[d] += place[d] < p - 1 ? face(cell, d) : 0;
            m->down[d] += place[d] > 0 ? face(cell, d) : 0;
        }
    }
}

void multipartition_exchange_faces(struct multipartition *m) {
    int requests[4 * DIMENSIONS], begun = 0;
    if (m->cells == 1)
        return;
    comm_messages_on(m->comm, m->for_faces);
    for (int d = 0; d < DIMENSIONS; d++) {
        requests[begun++] =
            comm_irecv(m->comm, m->successor[d], down_tag[d], COMM_DOUBLE, m->up[d], m->up[d]);
        requests[begun++] =
            comm_irecv(m->comm, m->predecessor[d], up_tag[d], COMM_DOUBLE, m->down[d], m->down[d]);
    }
    for (int d = 0; d < DIMENSIONS; d++) {
        requests[begun++] = comm_isend(m->comm, m->successor[d], up_tag[d], COMM_DOUBLE, m->up[d]);
        requests[begun++] = comm_isend(m->comm, m->predecessor[d], down_tag[d], COMM_DOUBLE, m->down[d]);
    }
    comm_waitall(m->comm, requests, begun);
    comm_messages_on(m->comm, m->for_sweeps);
}
