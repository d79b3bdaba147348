/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers and what is in them. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096

static char *memory[2];
static size_t held;

void measure_room(size_t size, char **send, char **receive) {
    if (size > held) {
        for (int i = 0; i < 2; i++) {
            free(memory[i]);
            if (posix_memalign((void **)&memory[i], PAGE, size))
                MPI_Abort(MPI_COMM_WORLD, 4);
            memset(memory[i], 1, size);
        }
        held = size;
    }
    *send = memory[0];
    *receive = memory[1];
}

/* Buffers stay between points: their pages were touched, and the library has registered them if it does that.
 */
void measure_buffers(struct measure_pair *pair) {
    pair->stride = (pair->bytes / PAGE + 1) * PAGE;
    const long wanted = pair->step->rotate_bytes / pair->stride;
    const long least = pair->step->test->slots > 1 ? pair->step->test->slots : 1;
    pair->slots = wanted > least ? wanted : least;
    measure_room((size_t)pair->stride * (size_t)pair->slots, &pair->send, &pair->receive);
}

void measure_spoil(char *buffer, long bytes) {
    if (bytes > 0) {
        buffer[0] ^= 0x55;
        buffer[bytes - 1] ^= 0x33;
    }
}

static uint32_t next(uint32_t x) {
    /* xorshift32 (G. Marsaglia, Xorshift RNGs, 2003). */
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}

void measure_fill(char *buffer, long bytes, uint32_t seed) {
    uint32_t x = seed * 2654435761u | 1u;
    long i = 0;
    for (; i + 4 <= bytes; i += 4) {
        x = next(x);
        memcpy(buffer + i, &x, 4);
    }
    x = next(x);
    memcpy(buffer + i, &x, (size_t)(bytes - i));
}

int measure_matches(const char *buffer, long bytes, uint32_t seed) {
    uint32_t x = seed * 2654435761u | 1u;
    long i = 0;
    for (; i + 4 <= bytes; i += 4) {
        x = next(x);
        if (memcmp(buffer + i, &x, 4) != 0)
            return 0;
    }
    x = next(x);
    return !memcmp(buffer + i, &x, (size_t)(bytes - i));
}
