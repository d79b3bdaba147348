/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a processor is left to a program that polls for its messages, and how many bytes does it get
 * meanwhile? COMB's polling method (W. Lawry et al., COMB: A Portable Benchmark Suite for Assessing MPI
 * Overlap, CLUSTER 2002): a queue of messages goes back and forth; the worker computes, and each SETTING ns
 * of computation answers what came. V1 is the computation alone, V2 the same computation with the messages,
 * V3 the latter over the messages that the worker received. The other end does nothing but answer.
 */
#include "measure.h"

#define QUEUE 4
#define TAG_STOP 80
#define LEAST_POLLS 8 /* a longer window would hardly ever be left alone by other programs */
#define TRANSFERS 8   /* so many messages fit into the computation, if it is as long as was asked for */

static void answer(struct measure_pair *pair, int slot, MPI_Request *send) {
    MPI_Isend(pair->send + slot * pair->stride, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG,
              MPI_COMM_WORLD, send);
}

static void expect(struct measure_pair *pair, int slot, MPI_Request *receive) {
    MPI_Irecv(pair->receive + slot * pair->stride, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG,
              MPI_COMM_WORLD, receive);
}

/* Answers all that has come; returns how much that was. */
static long poll(struct measure_pair *pair, MPI_Request *receives, MPI_Request *sends) {
    int came, which[QUEUE];
    MPI_Testsome(QUEUE, receives, &came, which, MPI_STATUSES_IGNORE);
    if (came == MPI_UNDEFINED)
        return 0;
    for (int i = 0; i < came; i++) {
        MPI_Wait(&sends[which[i]], MPI_STATUS_IGNORE);
        expect(pair, which[i], &receives[which[i]]);
        answer(pair, which[i], &sends[which[i]]);
    }
    return came;
}

static void work_and_poll(struct measure_pair *pair, double value[MEASURE_VALUES]) {
    MPI_Request receives[QUEUE], sends[QUEUE];
    long count = 0;
    const double first = measure_now();
    for (long i = 0; i < pair->rounds; i++)
        measure_work(pair->work);
    const double before = measure_now();
    for (int i = 0; i < QUEUE; i++) {
        expect(pair, i, &receives[i]);
        answer(pair, i, &sends[i]);
    }
    for (long i = 0; i < pair->rounds; i++) {
        measure_work(pair->work);
        count += poll(pair, receives, sends);
    }
    value[0] = before - first - measure_clock_cost();
    value[1] = measure_now() - before - measure_clock_cost();
    value[2] = count ? value[1] / (double)count : 0;
    /* Every message comes back once more. */
    MPI_Waitall(QUEUE, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(QUEUE, sends, MPI_STATUSES_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, TAG_STOP, MPI_COMM_WORLD);
}

static void support(struct measure_pair *pair) {
    MPI_Request waited[QUEUE + 1], sends[QUEUE];
    for (int i = 0; i < QUEUE; i++) {
        expect(pair, i, &waited[i]);
        sends[i] = MPI_REQUEST_NULL;
    }
    MPI_Irecv(NULL, 0, MPI_BYTE, pair->peer, TAG_STOP, MPI_COMM_WORLD, &waited[QUEUE]);
    for (;;) {
        int which;
        MPI_Waitany(QUEUE + 1, waited, &which, MPI_STATUS_IGNORE);
        if (which == QUEUE)
            break;
        MPI_Wait(&sends[which], MPI_STATUS_IGNORE);
        expect(pair, which, &waited[which]);
        answer(pair, which, &sends[which]);
    }
    for (int i = 0; i < QUEUE; i++)
        MPI_Cancel(&waited[i]);
    MPI_Waitall(QUEUE, waited, MPI_STATUSES_IGNORE);
    MPI_Waitall(QUEUE, sends, MPI_STATUSES_IGNORE);
}

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    (void)messages;
    if (pair->role == 0)
        work_and_poll(pair, value);
    else
        support(pair);
}

static void prepare(struct measure_pair *pair) {
    const double interval = (double)pair->step->setting * 1e-9;
    const double trip = measure_round_trip(pair);
    double whole = TRANSFERS * trip > pair->step->batch_s ? TRANSFERS * trip : pair->step->batch_s;
    whole = whole < LEAST_POLLS * interval ? LEAST_POLLS * interval : whole;
    pair->work = measure_work_for(interval);
    pair->rounds = (long)(whole / (interval > 1e-8 ? interval : 1e-8));
}

const struct measure_test measure_polling = {
    .name = "polling", .receivers = 3, .slots = QUEUE, .prepare = prepare, .batch = batch};
