/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys that IS sorts: how many of each bucket every process has. */
#ifndef RANKWISE_WORKLOADS_IS_KEYS_H
#define RANKWISE_WORKLOADS_IS_KEYS_H

#include <stdint.h>

struct is_size {
    char letter;
    int keys_log, largest_log, buckets_log;
};

/*
 * @brief Count the keys of all processes.
 *
 * Each key is the sum of four numbers of the generator x <- 5^13 x mod 2^46 of the NAS Parallel Benchmarks,
 * scaled; its uppermost bits are its bucket. Processes have equal parts of the one sequence.
 *
 * @return counts of each process, buckets of rank 0 first, and behind them those of all together; they stay
 * until the next call, which returns the same if it asks for the same
 */
const int32_t *is_keys_in_buckets(const struct is_size *, int ranks);

/* @return the bucket of the key number `index` of the sequence */
int is_bucket_of(const struct is_size *, int64_t index);

#endif
