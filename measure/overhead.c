/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long is a rank's core busy with a message that it sends, or receives? Post-work-wait (W. Lawry et al., COMB: A
 * Portable Benchmark Suite for Assessing MPI Overlap, CLUSTER 2002): post, compute without MPI for longer than the
 * transfer needs, wait. V1 is the time in the post, V2 the computation, V3 the wait; V1 + V3 is the overhead. Each is
 * timed by itself, so the computation need not be subtracted from a long interval.
 *
 * The other end sits in a blocking call and progresses; the receive is always posted before the message is sent.
 */
#include "measure.h"

static void send_timed(struct measure_pair *pair, double value[MEASURE_VALUES])
{
    MPI_Request request;
    MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double t0 = measure_now();
    MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    const double t1 = measure_now();
    measure_work(pair->work);
    const double t2 = measure_now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double t3 = measure_now();
    value[0] += t1 - t0;
    value[1] += t2 - t1;
    value[2] += t3 - t2;
}

static void receive_timed(struct measure_pair *pair, double value[MEASURE_VALUES])
{
    MPI_Request request;
    const double t0 = measure_now();
    MPI_Irecv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    const double t1 = measure_now();
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    const double t2 = measure_now();
    measure_work(pair->work);
    const double t3 = measure_now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double t4 = measure_now();
    value[0] += t1 - t0;
    value[1] += t3 - t2;
    value[2] += t4 - t3;
}

static void send_plain(struct measure_pair *pair)
{
    MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
}

static void receive_plain(struct measure_pair *pair)
{
    MPI_Request request;
    MPI_Irecv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void finish(double value[MEASURE_VALUES], long messages)
{
    for (int i = 0; i < MEASURE_VALUES; i++) {
        value[i] = value[i] / (double)messages - measure_clock_cost();
        if (value[i] < 0)
            value[i] = 0;
    }
}

static void batch_send(struct measure_pair *pair, long messages, double value[MEASURE_VALUES])
{
    for (long i = 0; i < messages; i++)
        if (pair->role == 0)
            send_timed(pair, value);
        else
            receive_plain(pair);
    finish(value, messages);
}

static void batch_receive(struct measure_pair *pair, long messages, double value[MEASURE_VALUES])
{
    for (long i = 0; i < messages; i++)
        if (pair->role == 0)
            send_plain(pair);
        else
            receive_timed(pair, value);
    finish(value, messages);
}

/* Twice the round trip is longer than any transfer of this size; the shortest of a few is the undisturbed one. */
static void prepare(struct measure_pair *pair)
{
    double least = 1;
    for (int i = 0; i < 10; i++) {
        const double before = measure_now();
        if (pair->role == 0) {
            send_plain(pair);
            receive_plain(pair);
        } else {
            receive_plain(pair);
            send_plain(pair);
        }
        const double took = measure_now() - before;
        least = took < least ? took : least;
    }
    pair->work = measure_work_for(2 * least + 2e-6);
}

const struct measure_test measure_send_overhead = {"send_overhead", 0, 2, 1, prepare, batch_send, NULL};
const struct measure_test measure_receive_overhead = {"receive_overhead", 1, 2, 1, prepare, batch_receive, NULL};
