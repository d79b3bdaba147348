/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a send of this size end before its receive is posted? The receiver computes without MPI for V2 seconds
 * before it posts; V1 is the time the sender spent in MPI_Send. Eager messages return at once, others only
 * after V2.
 */
#include "measure.h"

#define DELAY_S 1e-3

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    for (long i = 0; i < messages; i++) {
        const double before = measure_now();
        if (pair->role == 0) {
            MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
        } else {
            measure_work(pair->work);
            MPI_Recv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        value[0] += measure_now() - before;
        /* The next receiver's delay must not begin while this message is still on its way. */
        MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, NULL, 0, MPI_BYTE, pair->peer,
                     MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    value[0] /= (double)messages;
    value[1] = DELAY_S;
}

static void prepare(struct measure_pair *pair) {
    pair->work = measure_work_for(DELAY_S);
}

const struct measure_test measure_eager = {
    .name = "eager", .receivers = 2, .repeats = 1, .prepare = prepare, .batch = batch};
