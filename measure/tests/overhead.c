/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long is a rank's core busy with a message that it sends, or receives? Post-work-wait (W. Lawry et al.,
 * COMB: A Portable Benchmark Suite for Assessing MPI Overlap, CLUSTER 2002): post, compute without MPI for
 * longer than the transfer needs, wait. V1 is the time in the post, V2 the computation, V3 the wait; V1 + V3
 * is the overhead. Each is timed by itself, so the computation need not be subtracted from a long interval.
 * Libraries that sleep in a wait leave the core to others: V3 is then the wait's processor time.
 *
 * The other end sits in a blocking call and progresses; the receive is always posted before the message is
 * sent.
 */
#include "measure.h"

/* Adds to value[2] the time of the wait, and to *cpu its processor time. */
static void timed_wait(MPI_Request *request, double value[MEASURE_VALUES], double *cpu) {
    const double cpu_before = measure_cpu_now();
    const double before = measure_now();
    MPI_Wait(request, MPI_STATUS_IGNORE);
    value[2] += measure_now() - before;
    *cpu += measure_cpu_now() - cpu_before;
}

static void send_timed(struct measure_pair *pair, double value[MEASURE_VALUES], double *cpu) {
    MPI_Request request;
    MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double t0 = measure_now();
    MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    const double t1 = measure_now();
    measure_work(pair->work);
    const double t2 = measure_now();
    timed_wait(&request, value, cpu);
    value[0] += t1 - t0;
    value[1] += t2 - t1;
}

static void receive_timed(struct measure_pair *pair, double value[MEASURE_VALUES], double *cpu) {
    MPI_Request request;
    const double t0 = measure_now();
    MPI_Irecv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    const double t1 = measure_now();
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    const double t2 = measure_now();
    measure_work(pair->work);
    const double t3 = measure_now();
    timed_wait(&request, value, cpu);
    value[0] += t1 - t0;
    value[1] += t3 - t2;
}

static void send_plain(struct measure_pair *pair) {
    MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
}

static void receive_plain(struct measure_pair *pair) {
    MPI_Request request;
    MPI_Irecv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void finish(double value[MEASURE_VALUES], double cpu, long messages) {
    /* The processor clock is coarse and its own cost varies: it counts only where it says that most was
     * sleep. */
    const double busy = cpu - (double)messages * (measure_cpu_clock_cost() + measure_clock_cost());
    if (busy < value[2] / 2)
        value[2] = busy + (double)messages * measure_clock_cost();
    for (int i = 0; i < MEASURE_VALUES; i++) {
        value[i] = value[i] / (double)messages - measure_clock_cost();
        if (value[i] < 0)
            value[i] = 0;
    }
}

static void batch_send(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    double cpu = 0;
    for (long i = 0; i < messages; i++)
        if (pair->role == 0)
            send_timed(pair, value, &cpu);
        else
            receive_plain(pair);
    finish(value, cpu, messages);
}

static void batch_receive(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    double cpu = 0;
    for (long i = 0; i < messages; i++)
        if (pair->role == 0)
            send_plain(pair);
        else
            receive_timed(pair, value, &cpu);
    finish(value, cpu, messages);
}

/* Three round trips are longer than most transfers of this size. */
static void prepare(struct measure_pair *pair) {
    pair->work = measure_work_for(3 * measure_round_trip(pair) + 2e-6);
}

const struct measure_test measure_send_overhead = {
    .name = "send_overhead", .receivers = 2, .repeats = 1, .prepare = prepare, .batch = batch_send};
const struct measure_test measure_receive_overhead = {.name = "receive_overhead",
                                                      .measured_at = 1,
                                                      .receivers = 2,
                                                      .repeats = 1,
                                                      .prepare = prepare,
                                                      .batch = batch_receive};
