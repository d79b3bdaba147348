/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast do messages follow each other? A burst of n sends in sequence, answered by one empty message: V1
 * is the time of the burst to its answer, V2 that of a burst of one, so (V1 - V2) / (n - 1) is the time a
 * further message adds: g + (s-1) G of LogGP, from PRTT(n,0,s) and PRTT(1,0,s) of T. Hoefler et al.,
 * Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks, IPDPS 2007.
 */
#include "measure.h"

static double burst(struct measure_pair *pair, long messages) {
    const double before = measure_now();
    for (long i = 0; i < messages; i++) {
        const long at = i % pair->slots * pair->stride;
        if (pair->role == 0)
            MPI_Send(pair->send + at, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(pair->receive + at, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    if (pair->role == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    return measure_now() - before - measure_clock_cost();
}

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    value[1] = burst(pair, 1);
    value[0] = burst(pair, messages);
}

const struct measure_test measure_stream = {.name = "stream", .receivers = 2, .batch = batch};
