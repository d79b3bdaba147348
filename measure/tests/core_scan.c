/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which core serves the network? FROM measures on the core that the step names: first round trips, then a
 * stream of messages to it, each for batch_s. A sample has V1 half a round trip, V2 the time of a message of
 * the stream. Further rows of the same point count on the cores of FROM's node, SETTING core + 1: V3
 * interrupts of devices and V4 softirqs that serve what the network received, a message. SETTING 0 has their
 * sums, and V5 the cache misses of FROM a message, -1 where the kernel offers no counters.
 */
#include "measure.h"

#include <sched.h>
#include <string.h>

#define PARTS 10 /* of a window: between them the ends agree on going on */

struct counts {
    long hard[MEASURE_MAX_CORES], soft[MEASURE_MAX_CORES];
    double misses;
};

static void round_trips(struct measure_pair *pair, long messages) {
    for (long i = 0; i < messages; i++)
        measure_trip(pair);
}

static void stream(struct measure_pair *pair, long messages) {
    for (long i = 0; i < messages; i++)
        if (pair->role == 0)
            MPI_Recv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        else
            MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
}

static long agree(struct measure_pair *pair, long number) {
    if (pair->role == 0)
        MPI_Send(&number, 1, MPI_LONG, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_LONG, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
}

/* For about batch_s; returns seconds a message, and adds to `total` how many there were. */
static double window(struct measure_pair *pair, void (*move)(struct measure_pair *, long), long *total) {
    const double length = pair->step->batch_s / PARTS;
    long part = 1;
    for (;;) {
        const double before = measure_now();
        move(pair, part);
        const long next = agree(pair, measure_now() - before < length && part < 1L << 30 ? part * 2 : part);
        if (next == part)
            break;
        part = next;
    }
    long count = 0;
    const double start = measure_now();
    do {
        move(pair, part);
        count += part;
    } while (agree(pair, measure_now() - start < pair->step->batch_s));
    *total += count;
    return (measure_now() - start) / (double)count;
}

static void once(struct measure_pair *pair, uint32_t seed) {
    static struct counts before, after;
    const struct measure_step *step = pair->step;
    struct measure_sample sample = {.sentinel_ns = -1, .waited = -1, .cpu = {-1, -1}};
    measure_fill(pair->send, pair->bytes, seed + (uint32_t)pair->role);
    measure_spoil(pair->receive, pair->bytes);
    agree(pair, 0);
    before.misses = measure_cache_misses();
    const int known = measure_interrupts(before.hard, before.soft);
    const long switches = measure_switches();
    const double trip = window(pair, round_trips, &sample.messages) / 2;
    const double further = window(pair, stream, &sample.messages);
    sample.switches = measure_switches() - switches;
    measure_interrupts(after.hard, after.soft);
    after.misses = measure_cache_misses();
    if (!measure_matches(pair->receive, pair->bytes, seed + (uint32_t)!pair->role))
        measure_wrong(step, step->from[0], step->to[0], pair->bytes);
    if (pair->role == 1)
        return;
    const double each = (double)sample.messages;
    sample.cpu[0] = sched_getcpu();
    sample.value[0] = trip;
    sample.value[1] = further;
    long hard = 0, soft = 0;
    for (int i = 0; i < MEASURE_MAX_CORES; i++) {
        hard += after.hard[i] -= before.hard[i];
        soft += after.soft[i] -= before.soft[i];
    }
    sample.value[2] = known ? (double)hard / each : -1;
    sample.value[3] = known ? (double)soft / each : -1;
    sample.value[4] = before.misses < 0 ? -1 : (after.misses - before.misses) / each;
    measure_report_sample(step, step->from[0], step->to[0], pair->bytes, &sample);
    for (int i = 0; i < MEASURE_MAX_CORES && known; i++)
        if (after.hard[i] || after.soft[i]) {
            sample.setting = i + 1;
            sample.value[2] = (double)after.hard[i] / each;
            sample.value[3] = (double)after.soft[i] / each;
            measure_report_sample(step, step->from[0], step->to[0], pair->bytes, &sample);
        }
}

static void all(const struct measure_step *step, long bytes) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != step->from[0] && rank != step->to[0])
        return;
    struct measure_pair pair = {.step = step, .role = rank == step->to[0], .bytes = bytes};
    pair.peer = pair.role ? step->from[0] : step->to[0];
    measure_bind(step, 0, pair.role);
    measure_buffers(&pair);
    for (long i = 0; i < step->most; i++)
        once(&pair, (uint32_t)(step->number * 7919 + 2 * i));
    if (pair.role == 0)
        measure_report_point(step, step->from[0], step->to[0], bytes, "count");
    measure_unbind();
}

const struct measure_test measure_core_scan = {.name = "core_scan", .all = all};
