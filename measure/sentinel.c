/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long does a cache line take from one rank to another of its node? Asked beside each sample: where
 * virtual cores move between physical ones, this says on which kind of pair of cores the sample was taken.
 */
#include "measure.h"

#include <stdatomic.h>
#include <stdlib.h>

#define LINE 128 /* two lines: adjacent-line prefetch must not couple neighbours */
#define PATIENCE_S 5e-4

struct line {
    _Atomic uint64_t word;
    char rest[LINE - sizeof(uint64_t)];
};

static struct line *lines; /* this node's, one for each of its ranks; NULL if memory cannot be shared */
static int *place;         /* by world rank: its place in `lines`, MPI_UNDEFINED on other nodes */
static int self;

void measure_sentinel_start(void) {
    int world, size;
    MPI_Comm node;
    MPI_Group all, here;
    MPI_Win window;
    void *base = NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &self);
    MPI_Comm_size(node, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(node, &here);
    place = malloc((size_t)world * sizeof *place);
    int *ranks = malloc((size_t)world * sizeof *ranks);
    for (int i = 0; i < world; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(all, world, ranks, here, place);
    free(ranks);
    MPI_Group_free(&all);
    MPI_Group_free(&here);
    if (size == 1)
        return;
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    const MPI_Aint mine = self == 0 ? (MPI_Aint)sizeof *lines * (size + 1) : 0;
    const int failed = MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, node, &base, &window);
    int anywhere;
    MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_BOR, node);
    if (anywhere)
        return;
    MPI_Aint length;
    int unit;
    MPI_Win_shared_query(window, 0, &length, &unit, &base);
    lines = (struct line *)(((uintptr_t)base + LINE - 1) & ~(uintptr_t)(LINE - 1));
    atomic_store(&lines[self].word, 0);
    MPI_Barrier(node);
}

static int wait_for(_Atomic uint64_t *word, uint64_t wanted) {
    const double until = measure_now() + PATIENCE_S;
    for (int i = 1;; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) == wanted)
            return 1;
        if (i % 1024 == 0 && measure_now() > until)
            return 0;
    }
}

double measure_sentinel(int peer, int role, int rounds) {
    static uint64_t
        *turn; /* by place: both ends count the rounds they began, in step because both always call */
    if (!lines || place[peer] == MPI_UNDEFINED)
        return -1;
    if (!turn)
        turn = calloc(65536, sizeof *turn);
    if (!turn || place[peer] >= 65536)
        return -1;
    /* Ranks on one core would wait for each other until the kernel switches; who gives up leaves no trace. */
    const uint64_t first = (uint64_t)(role == 0 ? self : place[peer]),
                   second = (uint64_t)(role == 0 ? place[peer] : self);
    const uint64_t base = turn[place[peer]] | first << 48 | second << 32;
    turn[place[peer]] =
        (turn[place[peer]] + (uint64_t)rounds) & 0xffffff; /* a pair's values differ from all others' */
    _Atomic uint64_t *out = &lines[self].word, *in = &lines[place[peer]].word;
    const double before = measure_now();
    for (int i = 1; i <= rounds; i++) {
        const uint64_t value = base + (uint64_t)i;
        if (role == 0)
            atomic_store_explicit(out, value, memory_order_release);
        if (!wait_for(in, value))
            return -1;
        if (role == 1)
            atomic_store_explicit(out, value, memory_order_release);
    }
    return (measure_now() - before - measure_clock_cost()) / rounds / 2;
}
