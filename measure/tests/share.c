/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do k pairs get together out of what they share? All pairs of the step send at the same time, through
 * `most` windows of `batch_s` that follow each other. V1 is the rate of one pair in bytes/s, V2 in
 * messages/s, as its receiver saw it in one window; V3 is the length of that window. The receivers of a node
 * have the same windows, and every pair sends until the last of them is over, so that the rates of a window
 * may be added. On networks so slow that only a few messages of each pair would end in `batch_s`, windows are
 * longer and fewer.
 *
 * What passes before the first window, for as long as a window, is not counted: buckets of rate limits empty
 * meanwhile, buffers fill, and ranks that left the barrier late arrive. A message counts in a window for the
 * share of its time in it, from the end of the message before to its own: in whole messages, a window of ten
 * of them would be off by one.
 *
 * A sender runs at most two bursts ahead of its receiver, so nothing piles up.
 */
#include "measure.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define TAG_STOP 80
#define AHEAD 2
#define PASSES                                                                                               \
    8 /* messages of each pair in a window, at least: the shares of its ends are off by up to one */
#define FEWEST_WINDOWS 2
#define LONGER 4 /* a window takes at most so many times what all were planned to take */
#define ALONE 3
#define ASKED_BYTES 4096 /* from here on a look for the end after each message costs little beside it */

/* The parts of a stream: before the windows, the windows, after them. */
struct parts {
    int count;    /* of windows */
    int at;       /* the part that is passing, 0 before the first window */
    double start; /* of part 0; each lasts `length` but the last, which lasts until all have stopped */
    double length;
    double last;    /* when the message before ended */
    double *passed; /* by part: messages, and shares of messages */
    long *switches; /* by part: of this rank when it began, with one more for the end */
};

static void enter(struct parts *parts, int at) {
    const long switches = measure_switches();
    while (parts->at < at)
        parts->switches[++parts->at] = switches;
}

/* A message that ended now, over all parts since the one before it. */
static void count(struct parts *parts, double now) {
    const double took = now - parts->last;
    double from = parts->last;
    for (;;) {
        const double end = parts->start + (parts->at + 1) * parts->length;
        if (now <= end || parts->at > parts->count)
            break;
        parts->passed[parts->at] += took > 0 ? (end - from) / took : 0;
        from = end;
        enter(parts, parts->at + 1);
    }
    parts->passed[parts->at] += took > 0 ? (now - from) / took : 1;
    parts->last = now;
}

/* Until the receiver says stop; it answers each burst with the part it is in. */
static void send_all(struct measure_pair *pair, struct parts *parts, long burst) {
    MPI_Request answered[AHEAD] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, stop;
    int at[AHEAD] = {0, 0}, stopped = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, pair->peer, TAG_STOP, MPI_COMM_WORLD, &stop);
    for (int turn = 0; !stopped; turn = (turn + 1) % AHEAD) {
        MPI_Wait(&answered[turn], MPI_STATUS_IGNORE);
        enter(parts, at[turn]);
        MPI_Irecv(&at[turn], 1, MPI_INT, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, &answered[turn]);
        for (long i = 0; i < burst && !stopped; i++) {
            MPI_Send(pair->send + i % pair->slots * pair->stride, (int)pair->bytes, MPI_BYTE, pair->peer,
                     MEASURE_TAG, MPI_COMM_WORLD);
            if (pair->bytes >= ASKED_BYTES || i == burst - 1)
                MPI_Test(&stop, &stopped, MPI_STATUS_IGNORE);
        }
    }
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, TAG_STOP, MPI_COMM_WORLD);
    MPI_Waitall(AHEAD, answered, MPI_STATUSES_IGNORE);
}

static void receive_all(struct measure_pair *pair, struct parts *parts, long burst) {
    int asked = 0;
    for (long got = 0;; got++) {
        MPI_Status status;
        MPI_Recv(pair->receive + got % burst % pair->slots * pair->stride, (int)pair->bytes, MPI_BYTE,
                 pair->peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        const int last = status.MPI_TAG == TAG_STOP;
        if (!last)
            count(parts, measure_now());
        if (parts->at > parts->count && !asked) {
            MPI_Send(NULL, 0, MPI_BYTE, pair->peer, TAG_STOP, MPI_COMM_WORLD);
            asked = 1;
        }
        /* The burst in which the sender stopped is answered as well. */
        if (last ? got % burst != 0 : (got + 1) % burst == 0)
            MPI_Send(&parts->at, 1, MPI_INT, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
        if (last)
            return;
    }
}

/* By the receivers of a node, which have one clock: when the last of them is there. */
static double common_start(MPI_Comm active, int role) {
    MPI_Comm receivers, node;
    double start;
    MPI_Comm_split(active, role, 0, &receivers);
    MPI_Comm_split_type(receivers, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Barrier(active);
    const double here = measure_now();
    MPI_Allreduce(&here, &start, 1, MPI_DOUBLE, MPI_MAX, node);
    MPI_Comm_free(&node);
    MPI_Comm_free(&receivers);
    return start;
}

/* How long a message of the first pair takes while the others wait; the first ones make the connection. */
static double alone(const struct measure_pair *pair, int at, MPI_Comm active) {
    double least = 0, longest;
    for (int i = 0; at == 0 && i < ALONE; i++) {
        const double from = measure_now();
        if (pair->role == 0) {
            MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
        }
        const double took = measure_now() - from;
        if (i == 1 || (i > 1 && took < least))
            least = took;
    }
    MPI_Allreduce(&least, &longest, 1, MPI_DOUBLE, MPI_MAX, active);
    return longest;
}

static void choose_windows(struct parts *parts, const struct measure_step *step, double message_s) {
    const double longest = LONGER * (double)step->most * step->batch_s;
    double needed = PASSES * step->pairs * message_s;
    if (needed > longest)
        needed = longest;
    parts->length = step->batch_s > needed ? step->batch_s : needed;
    const double fit = (double)step->most * step->batch_s / parts->length;
    const long fewest = step->most < FEWEST_WINDOWS ? step->most : FEWEST_WINDOWS;
    const long count = fit > (double)fewest ? (long)(fit + 0.5) : fewest;
    parts->count = count < MEASURE_MAX_WINDOWS ? (int)count : MEASURE_MAX_WINDOWS;
}

/* The receiver reports each window, with the switches of both ends. */
static void report(struct measure_pair *pair, const struct parts *parts, int at) {
    const struct measure_step *step = pair->step;
    long theirs[MEASURE_MAX_WINDOWS + 3];
    const int numbers = parts->count + 2, cpu = sched_getcpu();
    if (pair->role == 0) {
        memcpy(theirs, parts->switches, (size_t)numbers * sizeof *theirs);
        theirs[numbers] = cpu;
        MPI_Send(theirs, numbers + 1, MPI_LONG, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
        return;
    }
    MPI_Recv(theirs, numbers + 1, MPI_LONG, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (int i = 1; i <= parts->count; i++) {
        struct measure_sample sample = {
            .sentinel_ns = -1, .waited = -1, .messages = step->messages, .cpu = {(int)theirs[numbers], cpu}};
        sample.switches = parts->switches[i + 1] - parts->switches[i] + theirs[i + 1] - theirs[i];
        sample.value[2] = parts->length;
        sample.value[1] = parts->passed[i] / parts->length;
        sample.value[0] = sample.value[1] * (double)pair->bytes;
        measure_report_sample(step, step->from[at], step->to[at], pair->bytes, &sample);
    }
}

static void stream(struct measure_pair *pair, MPI_Comm active, int at) {
    const struct measure_step *step = pair->step;
    static double passed[MEASURE_MAX_WINDOWS + 2];
    static long switches[MEASURE_MAX_WINDOWS + 2];
    memset(passed, 0, sizeof passed);
    struct parts parts = {.passed = passed, .switches = switches};
    const uint32_t seed = (uint32_t)(step->number * 7919);
    for (long i = 0; i < pair->slots; i++) {
        measure_fill(pair->send + i * pair->stride, pair->bytes, seed);
        measure_spoil(pair->receive + i * pair->stride, pair->bytes);
    }
    choose_windows(&parts, step, alone(pair, at, active));
    parts.start = parts.last = common_start(active, pair->role);
    switches[0] = measure_switches();
    if (pair->role == 0)
        send_all(pair, &parts, step->messages);
    else
        receive_all(pair, &parts, step->messages);
    enter(&parts, parts.count + 1);
    for (long i = 0; i < pair->slots && i < step->messages && pair->role == 1; i++)
        if (!measure_matches(pair->receive + i * pair->stride, pair->bytes, seed))
            measure_wrong(step, step->from[at], step->to[at], pair->bytes);
    report(pair, &parts, at);
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
    stream(&pair, active, at);
    if (at == 0 && role == 0)
        measure_report_point(step, step->from[0], step->to[0], bytes, "count");
    measure_unbind();
    MPI_Comm_free(&active);
}

const struct measure_test measure_share = {.name = "share", .all = all};
