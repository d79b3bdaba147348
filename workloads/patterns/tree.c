/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages along a tree of all ranks with rank 0 at its root: up, from the leaves to the root, and down
 * again.
 *
 * Binomial: rank r's parent is r without its lowest bit, so that children are at distances of powers of two.
 * Binary: the parent of r is (r - 1) / 2. A rank receives from its children in order of their distance,
 * nearest first, and sends to them the other way round.
 */
#include "workload.h"

enum { SHAPE, DIRECTION, BYTES, OPTIONS };
enum { BINOMIAL, BINARY };
enum { BOTH, UP, DOWN };
enum { TAG_UP = 1, TAG_DOWN = 2, MOST_CHILDREN = 32 };

static const char *const shapes[] = {"binomial", "binary", NULL};
static const char *const directions[] = {"both", "up", "down", NULL};

static const struct workload_option options[OPTIONS] = {
    [SHAPE] = {"shape", "of the tree", shapes, 0, 1, BINOMIAL},
    [DIRECTION] = {"direction", "in which messages travel", directions, 0, 2, BOTH},
    [BYTES] = {"bytes", "of each message", NULL, 0, 1 << 30, 1024},
};

/* @return how many children a rank has, nearest first */
static int find_children(const struct problem *problem, const struct comm *comm,
                         int children[MOST_CHILDREN]) {
    int count = 0;
    if (problem->option[SHAPE] == BINARY) {
        for (int64_t child = 2 * (int64_t)comm->rank + 1; child <= 2 * (int64_t)comm->rank + 2; child++)
            if (child < comm->size)
                children[count++] = (int)child;
        return count;
    }
    for (int64_t bit = 1; comm->rank + bit < comm->size && !(comm->rank & bit); bit *= 2)
        children[count++] = (int)(comm->rank + bit);
    return count;
}

static int parent_of(const struct problem *problem, int rank) {
    return problem->option[SHAPE] == BINARY ? (rank - 1) / 2 : rank & (rank - 1);
}

static void receive(struct comm *comm, int source, int tag, int64_t bytes) {
    comm_recv(comm, source, tag, COMM_BYTE, bytes, bytes);
}

static void tree_run(struct comm *comm, const struct problem *problem) {
    int children[MOST_CHILDREN], count = find_children(problem, comm, children);
    int parent = parent_of(problem, comm->rank);
    int64_t bytes = problem->option[BYTES];
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++) {
        if (problem->option[DIRECTION] != DOWN) {
            for (int k = 0; k < count; k++)
                receive(comm, children[k], TAG_UP, bytes);
            if (comm->rank)
                comm_send(comm, parent, TAG_UP, COMM_BYTE, bytes);
        }
        if (problem->option[DIRECTION] != UP) {
            if (comm->rank)
                receive(comm, parent, TAG_DOWN, bytes);
            for (int k = count - 1; k >= 0; k--)
                comm_send(comm, children[k], TAG_DOWN, COMM_BYTE, bytes);
        }
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
}

static int tree_iterations(const struct problem *problem) {
    (void)problem;
    return 100;
}

static void tree_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

static int tree_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    (void)problem, (void)ranks, (void)why, (void)why_bytes;
    return 1;
}

const struct workload workload_tree = {
    .name = "tree",
    .title = "messages along a binomial or binary tree of all ranks",
    .pattern = "parents and children, in binomial trees at distances of powers of two",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = tree_iterations,
    .grid = tree_grid,
    .accepts = tree_accepts,
    .run = tree_run,
};
