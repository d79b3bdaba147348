/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages carry: words that depend on the sender, the receiver and how many messages went before. */
#ifndef RANKWISE_WORKLOADS_PATTERN_H
#define RANKWISE_WORKLOADS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum pattern_extent {
    PATTERN_FULL, /* every byte is written and checked */
    PATTERN_ENDS  /* only the first and the last 512 bytes */
};

/* @return a key that differs for each message: the mixing function of SplitMix64 over the four numbers */
uint64_t pattern_key(uint64_t from, uint64_t to, uint64_t channel, uint64_t sequence);

void pattern_fill(void *buffer, size_t bytes, uint64_t key, enum pattern_extent extent);

/* @return 1 if the buffer holds what pattern_fill writes for that key */
int pattern_matches(const void *buffer, size_t bytes, uint64_t key, enum pattern_extent extent);

#endif
