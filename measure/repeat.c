/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repetition until the median is known well enough. Both ends of a pair walk through the same batches; the
 * end with role 0 decides and tells the other with a message before each batch. Batches are so short that
 * most are not interrupted, and those that were are known by the kernel's count of switches.
 */
#include "measure.h"

#include <sched.h>
#include <string.h>

struct order {
    long messages; /* 0: the point is done */
    uint32_t seed;
    int sentinel;
};

struct answer {
    double value[MEASURE_VALUES];
    double sentinel_ns;
    double waited;
    long switches;
    int cpu;
    int wrong;
};

/* Write what is sent, and spoil what is to be received where it would show that a message did not arrive. */
static void before_batch(struct measure_pair *pair, const struct order *order) {
    const long used = order->messages < pair->slots ? order->messages : pair->slots;
    for (long i = 0; i < used; i++)
        measure_fill(pair->send + i * pair->stride, pair->bytes, order->seed + (uint32_t)pair->role);
    /* Once untimed, so that caches are as in a stream of messages and not as filling the buffers leaves them.
     */
    double unused[MEASURE_VALUES] = {0};
    pair->step->test->batch(pair, 1, unused);
    for (long i = 0; i < used; i++)
        measure_spoil(pair->receive + i * pair->stride, pair->bytes);
}

static int arrived(struct measure_pair *pair, const struct order *order) {
    if (!(pair->step->test->receivers & 1 << pair->role))
        return 1;
    const long used = order->messages < pair->slots ? order->messages : pair->slots;
    for (long i = 0; i < used; i++)
        if (!measure_matches(pair->receive + i * pair->stride, pair->bytes,
                             order->seed + (uint32_t)!pair->role))
            return 0;
    return 1;
}

/* One batch on this end, with everything that belongs around it. */
static struct answer one(struct measure_pair *pair, const struct order *order) {
    struct answer answer = {.sentinel_ns = -1};
    before_batch(pair, order);
    /* A short message each way: both ends are there when the batch starts. */
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, NULL, 0, MPI_BYTE, pair->peer,
                 MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (order->sentinel) {
        const double line = measure_sentinel(pair->peer, pair->role, MEASURE_SENTINEL_ROUNDS);
        answer.sentinel_ns = line < 0 ? -1 : line * 1e9;
    }
    const struct measure_moment began = measure_moment();
    const long before = measure_switches();
    pair->step->test->batch(pair, order->messages, answer.value);
    answer.switches = measure_switches() - before;
    answer.waited = measure_waited(began);
    answer.cpu = sched_getcpu();
    answer.wrong = !arrived(pair, order);
    return answer;
}

static void follow(struct measure_pair *pair) {
    struct order order;
    for (;;) {
        MPI_Recv(&order, sizeof order, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (!order.messages)
            return;
        const struct answer answer = one(pair, &order);
        MPI_Send(&answer, sizeof answer, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    }
}

/* Order a batch of both ends and put the two answers together. */
static struct measure_sample lead_one(struct measure_pair *pair, const struct order *order, double *took) {
    struct answer theirs;
    const struct measure_step *step = pair->step;
    MPI_Send(order, sizeof *order, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    const struct answer mine = one(pair, order);
    MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (mine.wrong || theirs.wrong)
        measure_wrong(step, step->from[0], step->to[0], pair->bytes);
    struct measure_sample sample = {.sentinel_ns = mine.sentinel_ns,
                                    .waited = mine.waited > theirs.waited ? mine.waited : theirs.waited,
                                    .switches = mine.switches + theirs.switches,
                                    .messages = order->messages,
                                    .setting = step->setting,
                                    .cpu = {mine.cpu, theirs.cpu}};
    memcpy(sample.value, step->test->measured_at ? theirs.value : mine.value, sizeof sample.value);
    *took = 0;
    for (int i = 0; i < MEASURE_VALUES; i++)
        *took += sample.value[i] * (step->test->repeats ? (double)order->messages : 1);
    return sample;
}

/* Raise the messages of a batch until it lasts as long as was asked for; these first batches are the warm-up.
 */
static void warm_up(struct measure_pair *pair, struct order *order, double until) {
    order->messages = pair->step->test->repeats ? 1 : pair->step->messages;
    for (int i = 0;
         i < MEASURE_WARM_BATCHES || (pair->step->test->repeats && order->messages < MEASURE_MOST_MESSAGES);
         i++) {
        double took;
        order->seed += 2;
        lead_one(pair, order, &took);
        if (measure_now() > until)
            return;
        if (took >= pair->step->batch_s) {
            if (i + 1 >= MEASURE_WARM_BATCHES)
                return;
        } else if (pair->step->test->repeats) {
            order->messages *= 2;
        }
    }
}

static int lead(struct measure_pair *pair) {
    const struct measure_step *step = pair->step;
    struct measure_until until;
    struct order order = {.seed = (uint32_t)(step->number * 7919 + pair->bytes), .sentinel = 1};
    measure_until_begin(&until, step, pair->bytes);
    warm_up(pair, &order, until.start + step->budget_s / 2);
    int failures = 0;
    const char *reason = NULL;
    while (!reason) {
        double took;
        order.seed += 2;
        const struct measure_sample sample = lead_one(pair, &order, &took);
        measure_report_sample(step, step->from[0], step->to[0], pair->bytes, &sample);
        /* Ends that share a core cannot answer each other: asking would only cost time. */
        failures = sample.sentinel_ns < 0 ? failures + 1 : 0;
        order.sentinel = failures < 3;
        reason = measure_until_took(&until, took, sample.switches);
    }
    order.messages = 0;
    MPI_Send(&order, sizeof order, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    measure_report_point(step, step->from[0], step->to[0], pair->bytes, reason);
    return measure_until_end(&until);
}

int measure_repeat(struct measure_pair *pair) {
    measure_buffers(pair);
    if (pair->step->test->prepare)
        pair->step->test->prepare(pair);
    int fits = 1;
    if (pair->role == 0)
        fits = lead(pair);
    else
        follow(pair);
    return fits;
}
