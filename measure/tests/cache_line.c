/* SPDX-License-Identifier: BSD-3-Clause */
/* How long does one cache line take from core to core, without MPI? V1 is one way. */
#include "measure.h"

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    value[0] = measure_sentinel(pair->peer, pair->role, (int)(messages < 1000 ? messages : 1000));
    if (value[0] < 0)
        value[0] = 0; /* recorded as preempted: the sentinel gives up only when its peer does not run */
}

const struct measure_test measure_cache_line = {.name = "cache_line", .repeats = 1, .batch = batch};
