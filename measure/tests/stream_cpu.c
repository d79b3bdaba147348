/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much processor time does a message cost either end when messages follow each other? A burst of n sends
 * in sequence, answered by one message, as in stream.c. V1 is the time of the burst over n, V2 the sender's
 * processor time over n, V3 the receiver's. In a ping-pong each message ends a wait: where waiting ranks
 * sleep, what it costs to look for it and to wake up cannot be set apart from what the message costs.
 */
#include "measure.h"

static double cpu_since(double before) {
    const double used = measure_cpu_now() - before - measure_cpu_clock_cost();
    return used > 0 ? used : 0;
}

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    const double cpu = measure_cpu_now(), before = measure_now();
    for (long i = 0; i < messages; i++) {
        const long at = i % pair->slots * pair->stride;
        if (pair->role == 0)
            MPI_Send(pair->send + at, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(pair->receive + at, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    double used = cpu_since(cpu);
    if (pair->role == 0) {
        value[1] = used / (double)messages;
        MPI_Recv(&used, 1, MPI_DOUBLE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value[2] = used / (double)messages;
        value[0] = (measure_now() - before - measure_clock_cost()) / (double)messages;
    } else {
        MPI_Send(&used, 1, MPI_DOUBLE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    }
}

const struct measure_test measure_stream_cpu = {.name = "stream_cpu", .receivers = 2, .batch = batch};
