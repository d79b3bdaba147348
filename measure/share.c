/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do k pairs get together out of what they share? All pairs of the step send at the same time, for a
 * fixed time. V1 is the rate of one pair in bytes/s, V2 in messages/s, as its receiver saw it inside a window
 * that lies wholly within the time in which every pair sends, so that rates may be added. V3 is the length of
 * that window.
 *
 * A sender runs at most two bursts ahead of its receiver, so nothing piles up.
 */
#include "measure.h"

#include <sched.h>
#include <string.h>

#define TAG_STOP 80
#define AHEAD 2

static void send_until(struct measure_pair *pair, double until, long burst) {
    MPI_Request answered[AHEAD] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int turn = 0; measure_now() < until; turn = (turn + 1) % AHEAD) {
        MPI_Wait(&answered[turn], MPI_STATUS_IGNORE);
        MPI_Irecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, &answered[turn]);
        for (long i = 0; i < burst; i++)
            MPI_Send(pair->send + i % pair->slots * pair->stride, (int)pair->bytes, MPI_BYTE, pair->peer,
                     MEASURE_TAG, MPI_COMM_WORLD);
    }
    for (int i = 0; i < AHEAD; i++)
        MPI_Wait(&answered[i], MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, TAG_STOP, MPI_COMM_WORLD);
}

/* Receive all; count what ends between `from` and `to`. Answers a burst when it is complete. */
static void receive_all(struct measure_pair *pair, double from, double to, long burst,
                        double value[MEASURE_VALUES]) {
    long counted = 0, got = 0;
    for (;; got++) {
        MPI_Status status;
        MPI_Recv(pair->receive + got % burst % pair->slots * pair->stride, (int)pair->bytes, MPI_BYTE,
                 pair->peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == TAG_STOP)
            break;
        const double now = measure_now();
        counted += now > from && now <= to;
        if ((got + 1) % burst == 0)
            MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    }
    /* One window for all pairs: from its first message to its last, a pair that is held up would count
     * only the time in which it was not. */
    value[2] = to - from;
    value[1] = (double)counted / value[2];
    value[0] = value[1] * (double)pair->bytes;
}

static void once(struct measure_pair *pair, MPI_Comm active, int at, uint32_t seed) {
    const struct measure_step *step = pair->step;
    struct measure_sample sample = {.sentinel_ns = -1, .messages = step->messages, .cpu = {-1, -1}};
    for (long i = 0; i < pair->slots; i++) {
        measure_fill(pair->send + i * pair->stride, pair->bytes, seed);
        memset(pair->receive + i * pair->stride, 0, (size_t)pair->bytes);
    }
    MPI_Barrier(active);
    const double start = measure_now(), length = step->batch_s;
    const long before = measure_switches();
    if (pair->role == 0)
        send_until(pair, start + 1.5 * length, step->messages);
    else
        receive_all(pair, start + 0.25 * length, start + 1.25 * length, step->messages, sample.value);
    long switches[2] = {measure_switches() - before, sched_getcpu()}, theirs[2];
    MPI_Sendrecv(switches, 2, MPI_LONG, pair->peer, MEASURE_TAG_CONTROL, theirs, 2, MPI_LONG, pair->peer,
                 MEASURE_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pair->role == 0)
        return;
    for (long i = 0; i < pair->slots && i < step->messages; i++)
        if (!measure_matches(pair->receive + i * pair->stride, pair->bytes, seed))
            measure_wrong(step, step->from[at], step->to[at], pair->bytes);
    sample.switches = switches[0] + theirs[0];
    sample.cpu[0] = (int)theirs[1];
    sample.cpu[1] = (int)switches[1];
    measure_report_sample(step, step->from[at], step->to[at], pair->bytes, &sample);
}

static void all(const struct measure_step *step, long bytes) {
    int rank, at = -1;
    MPI_Comm active;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < step->pairs; i++)
        if (rank == step->from[i] || rank == step->to[i])
            at = i;
    MPI_Comm_split(MPI_COMM_WORLD, at < 0 ? MPI_UNDEFINED : 0, rank, &active);
    if (at < 0)
        return;
    const int role = rank == step->to[at];
    struct measure_pair pair = {.step = step, .role = role, .bytes = bytes};
    pair.peer = role ? step->from[at] : step->to[at];
    measure_bind(step, at, role);
    measure_buffers(&pair);
    for (long i = 0; i < step->most; i++)
        once(&pair, active, at, (uint32_t)(step->number * 7919 + i));
    if (at == 0 && role == 0)
        measure_report_point(step, step->from[0], step->to[0], bytes, "count");
    measure_unbind();
    MPI_Comm_free(&active);
}

const struct measure_test measure_share = {.name = "share", .all = all};
