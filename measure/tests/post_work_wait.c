/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a processor is left to a program that posts its messages, computes, and waits, and do they
 * advance meanwhile? COMB's post-work-wait method (Lawry et al., as in polling.c): one message each way.
 * SETTING is the computation in per cent of what the exchange takes alone. V1 is the time of the posts, V2
 * the computation with messages on their way, V3 the wait after it, V4 the same computation alone, V5 the
 * wait without computation. All are taken in turn for each message, so that they may be compared with each
 * other whatever the machine does.
 */
#include "measure.h"

/* Both ends are there before the posts begin. */
static void timed(struct measure_pair *pair, long work, double *posted, double *worked, double *waited) {
    MPI_Request both[2];
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, NULL, 0, MPI_BYTE, pair->peer,
                 MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double t0 = measure_now();
    MPI_Irecv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &both[1]);
    const double t1 = measure_now();
    measure_work(work);
    const double t2 = measure_now();
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    *waited += measure_now() - t2;
    *worked += t2 - t1;
    *posted += t1 - t0;
}

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    double unused = 0;
    for (long i = 0; i < messages; i++)
        if (pair->role == 0) {
            timed(pair, 0, &unused, &unused, &value[4]);
            timed(pair, pair->work, &value[0], &value[1], &value[2]);
            const double before = measure_now();
            measure_work(pair->work);
            value[3] += measure_now() - before;
        } else {
            timed(pair, 0, &unused, &unused, &unused);
            timed(pair, 0, &unused, &unused, &unused);
        }
    for (int i = 0; i < MEASURE_VALUES; i++) {
        value[i] = value[i] / (double)messages - measure_clock_cost();
        if (value[i] < 0)
            value[i] = 0;
    }
}

static void prepare(struct measure_pair *pair) {
    pair->work = measure_work_for(measure_round_trip(pair) / 2 * (double)pair->step->setting / 100);
}

const struct measure_test measure_post_work_wait = {
    .name = "post_work_wait", .receivers = 3, .repeats = 1, .prepare = prepare, .batch = batch};
