/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What coder and reader remember of a trace, each for itself and in the same way (formats/recording.h, "Coded
 * traces"): the shapes seen so far, which of them followed which, and how long things took there last.
 */
#ifndef RANKWISE_RECORD_TRACE_MODEL_H
#define RANKWISE_RECORD_TRACE_MODEL_H

#include <stdint.h>
#include <string.h>

#include "../formats/recording.h"
#include "calls_generated.h"
#include "process/next.h"

#define RW_MODEL_HEADS 8192u

/* Codes of gap and duration. */
struct rw_codes {
    uint8_t gap, duration;
};

/* What came last after four certain shapes. */
struct rw_follower {
    uint16_t shape; /* number + 1, 0: none yet */
    uint16_t check; /* which four */
    struct rw_codes codes;
};

struct rw_trace_model {
    uint64_t history;       /* numbers + 1 of the last four shapes, the last one lowest */
    unsigned char *repeats; /* count of expected events that may still grow, or NULL */
    uint32_t shapes, arena_used;
    struct rw_codes last;
    int64_t carried[2][64];             /* by power of two: what rounding left, of gaps and of durations */
    uint64_t wait_left_ns, cpu_left_ns; /* of the scheduler's figures */
    uint64_t events_since_sample;
    struct rw_follower followers[RW_MODEL_FOLLOWERS];
    uint16_t after[RW_MODEL_SHAPES + 1]; /* number + 1 of the shape that came last after this one */
    uint16_t of_kind[RW_CALL_COUNT];     /* number + 1 of the shape of this kind that came last */
    struct rw_codes codes[RW_MODEL_SHAPES];
    uint32_t offset[RW_MODEL_SHAPES], length[RW_MODEL_SHAPES];
    uint16_t heads[RW_MODEL_HEADS], next[RW_MODEL_SHAPES]; /* chains by hash, numbers + 1 */
    unsigned char arena[RW_MODEL_ARENA_BYTES];
};

static inline uint64_t rw_model_hash(uint64_t history) {
    return history * 0x9e3779b97f4a7c15u;
}

/* The last value of rw_quantise() as ticks. */
static inline uint64_t rw_dequantise(uint32_t code, unsigned unit_shift) {
    const uint64_t units = code < 8 ? code : (uint64_t)((code & 3) + 4) << ((code >> 2) - 1);
    return units << unit_shift;
}

/**
 * @brief Round to three significant bits.
 *
 * What is left is carried to the next time of the same power of two, so that sums stay right.
 */
static inline uint32_t rw_quantise(int64_t carried[64], uint64_t ticks, unsigned unit_shift) {
    int64_t *const left = &carried[63 - __builtin_clzll(ticks | 1)];
    const int64_t wanted = (int64_t)ticks + *left;
    const uint64_t units = wanted > 0 ? ((uint64_t)wanted + ((1u << unit_shift) >> 1)) >> unit_shift : 0;
    uint32_t code = (uint32_t)units;
    if (units >= 8) {
        const unsigned shift = 61 - (unsigned)__builtin_clzll(units);
        code = (uint32_t)((units + ((uint64_t)1 << (shift - 1))) >> shift) + (shift << 2);
    }
    *left = wanted - (int64_t)rw_dequantise(code, unit_shift);
    return code;
}

static inline void rw_model_forget(struct rw_trace_model *model) {
    model->history = 0;
    model->repeats = NULL;
    model->shapes = model->arena_used = 0;
    model->last = (struct rw_codes){0, 0};
    memset(model->followers, 0, sizeof model->followers);
    memset(model->after, 0, sizeof model->after);
    memset(model->of_kind, 0, sizeof model->of_kind);
    memset(model->heads, 0, sizeof model->heads);
}

#endif
