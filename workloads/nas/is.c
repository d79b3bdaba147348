/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IS: ranks of integer keys by a bucket sort. Every iteration adds up the bucket sizes of all processes,
 * deals the buckets out so that each process gets about as many keys as it has, tells every process how many
 * keys will come, and sends them in one all-to-all of unequal blocks. Two keys of rank 0 change each time.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; sizes, tags and order are those of the MPI version 3.3.
 */
#include <stdio.h>
#include <string.h>

#include "is_keys.h"
#include "nas.h"

enum { ITERATIONS = 10, TEST_KEYS = 5, NEIGHBOUR_TAG = 1000, MOST_BUCKETS = 1024, MOST_RANKS = 1024 };

static const struct is_size sizes[] = {
    {'S', 16, 11, 9},  {'W', 20, 16, 10}, {'A', 23, 19, 10},
    {'B', 25, 21, 10}, {'C', 27, 23, 10}, {'D', 31, 27, 10},
};

static const struct is_size *find_size(const struct problem *problem) {
    const struct is_size *found = sizes;
    while (found->letter != problem->problem_class)
        found++;
    return found;
}

struct is {
    struct comm *comm;
    const struct is_size *size;
    int buckets, iterations;
    int64_t keys;                             /* of each process */
    const int32_t *counts;                    /* of each process and of all, as they were made */
    int32_t changes[MOST_BUCKETS];            /* of rank 0's counts */
    int64_t to[MOST_RANKS], from[MOST_RANKS]; /* keys for and from each process */
};

/* Keys of a process; those of all are the process behind the last. */
static int64_t count(const struct is *is, int rank, int bucket) {
    int64_t made = is->counts[(size_t)rank * (size_t)is->buckets + (size_t)bucket];
    return rank == 0 || rank == is->comm->size ? made + is->changes[bucket] : made;
}

/* Key `index` of rank 0 has been given the value `value`. */
static void change(struct is *is, int64_t index, int64_t value) {
    if (index >= is->keys)
        return;
    is->changes[is_bucket_of(is->size, index)]--;
    is->changes[value >> (is->size->largest_log - is->size->buckets_log)]++;
}

/* Buckets go to the processes in turn: to each until all before and with it have their number of keys. */
static void deal_out(struct is *is) {
    int ranks = is->comm->size, owner = 0;
    int64_t sum = 0;
    memset(is->to, 0, sizeof is->to);
    memset(is->from, 0, sizeof is->from);
    for (int bucket = 0; bucket < is->buckets && owner < ranks; bucket++) {
        is->to[owner] += count(is, is->comm->rank, bucket);
        for (int rank = 0; owner == is->comm->rank && rank < ranks; rank++)
            is->from[rank] += count(is, rank, bucket);
        sum += count(is, ranks, bucket);
        if (sum >= (owner + 1) * is->keys)
            owner++;
    }
}

static void rank_keys(struct is *is) {
    struct comm *comm = is->comm;
    deal_out(is);
    /* Its operations are published as keys ranked: half are sorted into buckets, half ranked. */
    comm_compute(comm, 0.5 * (double)is->keys);
    comm_allreduce(comm, COMM_WORLD, COMM_INT, is->buckets + TEST_KEYS, COMM_SUM);
    comm_alltoall(comm, COMM_WORLD, COMM_INT, 1);
    comm_alltoallv(comm, COMM_WORLD, comm->size, COMM_INT, is->to, is->from);
    int64_t received = 0;
    for (int rank = 0; rank < comm->size; rank++)
        received += is->from[rank];
    comm_compute(comm, 0.5 * (double)received);
}

/* The largest key of each process is compared with the smallest one of the next. */
static void verify(struct comm *comm) {
    int request = 0;
    if (comm->rank > 0)
        request = comm_irecv(comm, comm->rank - 1, NEIGHBOUR_TAG, COMM_INT, 1, 1);
    if (comm->rank < comm->size - 1)
        comm_send(comm, comm->rank + 1, NEIGHBOUR_TAG, COMM_INT, 1);
    if (comm->rank > 0)
        comm_wait(comm, request);
    comm_reduce(comm, COMM_WORLD, COMM_INT, 1, COMM_SUM, 0);
}

static void rank_keys_in_iteration(struct is *is, int iteration) {
    change(is, iteration, iteration);
    change(is, iteration + is->iterations, (INT64_C(1) << is->size->largest_log) - iteration);
    rank_keys(is);
}

static void is_run(struct comm *comm, const struct problem *problem) {
    const struct is_size *size = find_size(problem);
    struct is is = {.comm = comm,
                    .size = size,
                    .buckets = 1 << size->buckets_log,
                    .iterations = problem->iterations,
                    .keys = (INT64_C(1) << size->keys_log) / comm->size};
    comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0); /* whether timers are on */
    is.counts = is_keys_in_buckets(size, comm->size);
    rank_keys_in_iteration(&is, 1);
    comm_start_timer(comm);
    /* The first iteration changes what the untimed one has changed already. */
    rank_keys(&is);
    for (int i = 2; i <= problem->iterations; i++)
        rank_keys_in_iteration(&is, i);
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
    verify(comm);
}

static int is_iterations(const struct problem *problem) {
    (void)problem;
    return ITERATIONS;
}

static void is_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

static int is_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    enum { LEAST_OF_D = 4 };
    if (problem->problem_class == 'D' && ranks < LEAST_OF_D) {
        snprintf(why, why_bytes, "is of class D runs on %d ranks or more, not on `%d`", LEAST_OF_D, ranks);
        return 0;
    }
    /* The limits that the original states. */
    return nas_power_of_two("is", problem, ranks, problem->problem_class == 'S' ? 128 : MOST_RANKS, why,
                            why_bytes);
}

const struct workload workload_is = {
    .name = "is",
    .title = "NAS Parallel Benchmarks IS: integer sort",
    .pattern = "all-to-all of keys over all ranks, reductions of bucket sizes",
    .classes = "SWABCD",
    .iterations = is_iterations,
    .grid = is_grid,
    .accepts = is_accepts,
    .run = is_run,
};
