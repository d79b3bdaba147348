/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_CHANGES_H
#define RANKWISE_RECORD_CHANGES_H

#include "trace/trace_model.h"

/* A shape by what it changes of another, as it is written. */
struct rw_changed {
    unsigned from; /* number + 1 of the other */
    uint64_t length;
    unsigned char bytes[1 + 10 * (2 + RW_MOST_CHANGED)];
};

/**
 * @brief Find a shape that this new one is like.
 * @param expected number + 1 of the shape that was expected, or 0.
 * @return `changed`, filled; NULL if the shape itself takes fewer bytes, or is like none.
 */
RW_HIDDEN const struct rw_changed *rw_trace_changed(const struct rw_trace_model *model,
                                                    struct rw_changed *changed, unsigned expected,
                                                    const unsigned char *shape, uint64_t length);

#endif
