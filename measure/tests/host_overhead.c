/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long is the host busy with a message? The Sandia method (mpi_overhead of the Sandia MPI Micro-Benchmark
 * Suite): a barrier, the post, computation, the wait. The computation grows until the whole takes half as
 * long again as without it; then what the computation does not explain is overhead. V1 is an iteration
 * without computation, V2 with it, V3 barrier and computation alone: overhead V2 - V3, availability 1 - (V2 -
 * V3) / V1. The three are taken in turn.
 */
#include "measure.h"

#define THRESHOLD 1.5
#define TRIALS 5

enum { ALONE, WITH_MESSAGE };

static void barrier(struct measure_pair *pair) {
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, NULL, 0, MPI_BYTE, pair->peer,
                 MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One iteration; both ends do the same, but for the computation. */
static double iteration(struct measure_pair *pair, int sends, int kind, long work) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int message = kind == WITH_MESSAGE, count = (int)pair->bytes;
    const double before = measure_now();
    if (message && !sends)
        MPI_Irecv(pair->receive, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    barrier(pair);
    if (message && sends)
        MPI_Isend(pair->send, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    measure_work(work);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return measure_now() - before - measure_clock_cost();
}

static void batch(struct measure_pair *pair, int sends, long messages, double value[MEASURE_VALUES]) {
    const long work = pair->role == 0 ? pair->work : 0;
    for (long i = 0; i < messages; i++) {
        value[0] += iteration(pair, sends, WITH_MESSAGE, 0);
        value[1] += iteration(pair, sends, WITH_MESSAGE, work);
        value[2] += iteration(pair, sends, ALONE, work);
    }
    for (int i = 0; i < 3; i++)
        value[i] /= (double)messages;
}

static double trial(struct measure_pair *pair, int sends, long work) {
    double took[TRIALS];
    for (int i = 0; i < TRIALS; i++)
        took[i] = iteration(pair, sends, WITH_MESSAGE, work);
    return measure_median(took, TRIALS);
}

/* Role 0 looks for the computation and tells the other end to go on. */
static void prepare(struct measure_pair *pair, int sends) {
    int more = 1;
    const double base = trial(pair, sends, 0);
    for (pair->work = measure_work_for(1e-7) + 1; more;) {
        const double took = trial(pair, sends, pair->role == 0 ? pair->work : 0);
        more = took < THRESHOLD * base && pair->work < 1L << 40;
        if (pair->role == 0)
            MPI_Send(&more, 1, MPI_INT, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
        else
            MPI_Recv(&more, 1, MPI_INT, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pair->work *= more ? 2 : 1;
    }
}

static void send_batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    batch(pair, pair->role == 0, messages, value);
}

static void receive_batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    batch(pair, pair->role == 1, messages, value);
}

static void send_prepare(struct measure_pair *pair) {
    prepare(pair, pair->role == 0);
}
static void receive_prepare(struct measure_pair *pair) {
    prepare(pair, pair->role == 1);
}

const struct measure_test measure_host_send = {
    .name = "host_send", .receivers = 2, .repeats = 1, .prepare = send_prepare, .batch = send_batch};
const struct measure_test measure_host_receive = {
    .name = "host_receive", .receivers = 1, .repeats = 1, .prepare = receive_prepare, .batch = receive_batch};
