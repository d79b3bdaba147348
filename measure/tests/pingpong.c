/* SPDX-License-Identifier: BSD-3-Clause */
/* How long does a message of this size take? V1 is half a round trip. */
#include "measure.h"

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    const int count = (int)pair->bytes;
    const double before = measure_now();
    for (long i = 0; i < messages; i++) {
        char *send = pair->send + i % pair->slots * pair->stride;
        char *receive = pair->receive + i % pair->slots * pair->stride;
        if (pair->role == 0) {
            MPI_Send(send, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
            MPI_Recv(receive, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(receive, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(send, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
        }
    }
    value[0] = (measure_now() - before - measure_clock_cost()) / (double)messages / 2;
}

const struct measure_test measure_pingpong = {
    .name = "pingpong", .receivers = 3, .repeats = 1, .batch = batch};
