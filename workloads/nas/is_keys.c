/* SPDX-License-Identifier: BSD-3-Clause */
#include "is_keys.h"

#include <stdlib.h>

enum { GENERATOR_BITS = 46, NUMBERS_OF_KEY = 4 };

static const uint64_t seed = 314159265, multiplier = 1220703125; /* 5^13 */
static const uint64_t number_mask = (UINT64_C(1) << GENERATOR_BITS) - 1;

/* 2^46 divides 2^64, so what overflows is never missed. */
static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* The buckets are the uppermost bits of the sum of four numbers, which has 48. */
static int bucket(const struct is_size *size, uint64_t before) {
    uint64_t sum = 0;
    for (int i = 0; i < NUMBERS_OF_KEY; i++) {
        before *= multiplier;
        sum += before & number_mask;
    }
    return (int)(sum >> (GENERATOR_BITS + 2 - size->buckets_log));
}

int is_bucket_of(const struct is_size *size, int64_t index) {
    return bucket(size, seed * power(multiplier, NUMBERS_OF_KEY * (uint64_t)index));
}

const int32_t *is_keys_in_buckets(const struct is_size *size, int ranks) {
    static int32_t *kept;
    static char kept_class;
    static int kept_ranks;
    if (kept && kept_class == size->letter && kept_ranks == ranks)
        return kept;
    free(kept);
    kept = calloc((size_t)(ranks + 1) << size->buckets_log, sizeof *kept);
    if (kept == NULL)
        abort();
    kept_class = size->letter;
    kept_ranks = ranks;
    int64_t each = (INT64_C(1) << size->keys_log) / ranks;
    const uint64_t next = power(multiplier, NUMBERS_OF_KEY);
    uint64_t state = seed;
    int buckets = 1 << size->buckets_log;
    int32_t *all = kept + (size_t)ranks * (size_t)buckets;
    for (int rank = 0; rank < ranks; rank++) {
        int32_t *counts = kept + (size_t)rank * (size_t)buckets;
        for (int64_t i = 0; i < each; i++, state *= next)
            counts[bucket(size, state)]++;
        for (int i = 0; i < buckets; i++)
            all[i] += counts[i];
    }
    return kept;
}
