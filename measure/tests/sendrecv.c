/* SPDX-License-Identifier: BSD-3-Clause */
/* How long does it take to send a message and receive one of the same size at once? V1 is one such exchange.
 */
#include "measure.h"

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    const int count = (int)pair->bytes;
    const double before = measure_now();
    for (long i = 0; i < messages; i++) {
        const long at = i % pair->slots * pair->stride;
        MPI_Sendrecv(pair->send + at, count, MPI_BYTE, pair->peer, MEASURE_TAG, pair->receive + at, count,
                     MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    value[0] = (measure_now() - before - measure_clock_cost()) / (double)messages;
}

const struct measure_test measure_sendrecv = {
    .name = "sendrecv", .receivers = 3, .repeats = 1, .batch = batch};
