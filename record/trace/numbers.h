/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of variable length, as traces have them (formats/recording.h). */
#ifndef RANKWISE_RECORD_NUMBERS_H
#define RANKWISE_RECORD_NUMBERS_H

#include <stdint.h>

#include "process/next.h"

/* Bytes that one number takes at most. */
#define RW_TRACE_NUMBER_BYTES 10u

static inline unsigned char *rw_put_u(unsigned char *at, uint64_t value) {
    while (RW_UNLIKELY(value >= 0x80)) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *rw_put_z(unsigned char *at, int64_t value) {
    return rw_put_u(at, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

#endif
