/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes by what they change of another (formats/recording.h, "Coded traces"). */
#include "trace/changes.h"

#include <stdint.h>

#include "trace/numbers.h"

/* The kind and the numbers behind it. */
struct numbers {
    unsigned count;
    uint64_t of[1 + RW_MOST_CHANGED];
};

/* 0 if there are too many. */
static int split(struct numbers *numbers, const unsigned char *shape, uint64_t length) {
    const unsigned char *const end = shape + length;
    numbers->count = 0;
    while (shape < end) {
        if (numbers->count > RW_MOST_CHANGED)
            return 0;
        uint64_t value = *shape & 0x7f;
        for (unsigned shift = 7; *shape++ & 0x80; shift += 7)
            value |= (uint64_t)(*shape & 0x7f) << shift;
        numbers->of[numbers->count++] = value;
    }
    return 1;
}

static int split_remembered(struct numbers *numbers, const struct rw_trace_model *model, unsigned number) {
    return number && split(numbers, model->arena + model->offset[number - 1], model->length[number - 1]);
}

/* Token, base and mask, and the numbers that differ. */
static uint64_t put(unsigned char *out, int by, uint64_t base, uint64_t mask, const struct numbers *from,
                    const struct numbers *to) {
    unsigned char *at = out;
    *at++ = by ? RW_TOKEN_CHANGED_BY : RW_TOKEN_CHANGED_TO;
    at = rw_put_u(rw_put_u(at, base), mask);
    for (; mask; mask &= mask - 1) {
        const unsigned i = 1 + (unsigned)__builtin_ctzll(mask);
        at = by ? rw_put_z(at, (int64_t)(to->of[i] - from->of[i])) : rw_put_u(at, to->of[i]);
    }
    return (uint64_t)(at - out);
}

const struct rw_changed *rw_trace_changed(const struct rw_trace_model *model, struct rw_changed *changed,
                                          unsigned expected, const unsigned char *shape, uint64_t length) {
    struct numbers to, from;
    if (!split(&to, shape, length))
        return NULL;
    uint64_t base = 0;
    changed->from = expected;
    if (!split_remembered(&from, model, expected) || from.of[0] != to.of[0] || from.count != to.count) {
        changed->from = model->of_kind[to.of[0]];
        base = 1 + to.of[0];
        if (!split_remembered(&from, model, changed->from) || from.count != to.count)
            return NULL;
    }
    uint64_t mask = 0;
    for (unsigned i = 1; i < to.count; i++)
        mask |= (uint64_t)(from.of[i] != to.of[i]) << (i - 1);
    unsigned char values[sizeof changed->bytes];
    changed->length = put(changed->bytes, 1, base, mask, &from, &to);
    const uint64_t length_of_values = put(values, 0, base, mask, &from, &to);
    if (length_of_values < changed->length) {
        changed->length = length_of_values;
        memcpy(changed->bytes, values, length_of_values);
    }
    return changed->length <= length ? changed : NULL;
}
