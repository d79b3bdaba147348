/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repetition until the median is known well enough. Both ends of a pair walk through the same batches; the end with
 * role 0 decides and tells the other with a message before each batch. Batches are so short that most are not
 * interrupted, and those that were are known by the kernel's count of switches.
 */
#include "measure.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SENTINEL_ROUNDS 50
#define MOST_MESSAGES 100000
#define WARM_BATCHES 3
#define PATIENCE 4      /* budgets that are spent on a busy machine to get samples without interruption */
#define GIVE_UP_AFTER 5 /* points without any: the ranks share a core, or might as well */

struct order {
    long messages; /* 0: the point is done */
    uint32_t seed;
    int sentinel;
};

struct answer {
    double value[MEASURE_VALUES];
    double sentinel_ns;
    long switches;
    int cpu;
    int wrong;
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measure_median(double *values, long count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Ranks of the order statistics that enclose the median with 95 % confidence, normal approximation of the binomial
 * (T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015, section 3.1.3). */
int measure_narrow(double *values, long count, double precision)
{
    if (count < 6)
        return 0;
    const double median = measure_median(values, count);
    const double half = 1.96 * sqrt((double)count);
    const long low = (long)floor(((double)count - half) / 2), high = (long)ceil(1 + ((double)count + half) / 2);
    if (low < 1 || high > count)
        return 0;
    return values[high - 1] - values[low - 1] <= 2 * precision * median;
}

/* Write what is sent, and spoil what is to be received where it would show that a message did not arrive. */
static void before_batch(struct measure_pair *pair, const struct order *order)
{
    const long used = order->messages < pair->slots ? order->messages : pair->slots;
    for (long i = 0; i < used; i++)
        measure_fill(pair->send + i * pair->stride, pair->bytes, order->seed + (uint32_t)pair->role);
    /* Once untimed, so that caches are as in a stream of messages and not as filling the buffers leaves them. */
    double unused[MEASURE_VALUES] = {0};
    pair->step->test->batch(pair, 1, unused);
    for (long i = 0; i < used && pair->bytes > 0; i++) {
        char *buffer = pair->receive + i * pair->stride;
        buffer[0] ^= 0x55;
        buffer[pair->bytes - 1] ^= 0x33;
    }
}

static int arrived(struct measure_pair *pair, const struct order *order)
{
    if (!(pair->step->test->receivers & 1 << pair->role))
        return 1;
    const long used = order->messages < pair->slots ? order->messages : pair->slots;
    for (long i = 0; i < used; i++)
        if (!measure_matches(pair->receive + i * pair->stride, pair->bytes, order->seed + (uint32_t)!pair->role))
            return 0;
    return 1;
}

/* One batch on this end, with everything that belongs around it. */
static struct answer one(struct measure_pair *pair, const struct order *order)
{
    struct answer answer = {.sentinel_ns = -1};
    before_batch(pair, order);
    /* A short message each way: both ends are there when the batch starts. */
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (order->sentinel) {
        const double line = measure_sentinel(pair->peer, pair->role, SENTINEL_ROUNDS);
        answer.sentinel_ns = line < 0 ? -1 : line * 1e9;
    }
    const long before = measure_switches();
    pair->step->test->batch(pair, order->messages, answer.value);
    answer.switches = measure_switches() - before;
    answer.cpu = sched_getcpu();
    answer.wrong = !arrived(pair, order);
    return answer;
}

static void follow(struct measure_pair *pair)
{
    struct order order;
    for (;;) {
        MPI_Recv(&order, sizeof order, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!order.messages)
            return;
        const struct answer answer = one(pair, &order);
        MPI_Send(&answer, sizeof answer, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    }
}

/* Order a batch of both ends and put the two answers together. */
static struct measure_sample lead_one(struct measure_pair *pair, const struct order *order, double *took)
{
    struct answer theirs;
    const struct measure_step *step = pair->step;
    MPI_Send(order, sizeof *order, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    const struct answer mine = one(pair, order);
    MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (mine.wrong || theirs.wrong)
        measure_wrong(step, step->from[0], step->to[0], pair->bytes);
    struct measure_sample sample = {.sentinel_ns = mine.sentinel_ns, .switches = mine.switches + theirs.switches,
                                    .messages = order->messages, .cpu = {mine.cpu, theirs.cpu}};
    memcpy(sample.value, step->test->measured_at ? theirs.value : mine.value, sizeof sample.value);
    *took = 0;
    for (int i = 0; i < MEASURE_VALUES; i++)
        *took += sample.value[i] * (step->test->repeats ? (double)order->messages : 1);
    return sample;
}

/* Raise the messages of a batch until it lasts as long as was asked for; these first batches are the warm-up. */
static void warm_up(struct measure_pair *pair, struct order *order, double until)
{
    order->messages = pair->step->test->repeats ? 1 : pair->step->messages;
    for (int i = 0; i < WARM_BATCHES || (pair->step->test->repeats && order->messages < MOST_MESSAGES); i++) {
        double took;
        order->seed += 2;
        lead_one(pair, order, &took);
        if (measure_now() > until)
            return;
        if (took >= pair->step->batch_s) {
            if (i + 1 >= WARM_BATCHES)
                return;
        } else if (pair->step->test->repeats) {
            order->messages *= 2;
        }
    }
}

/*
 * Whether the least samples of the next size fit what the step may take for a size. What other programs took from this
 * point says little about the next, so of points that were always interrupted only as much counts as the growth of the
 * message since the size before explains; of the first ones, nothing.
 */
static int next_fits(const struct measure_pair *pair, double shortest, int interrupted, int patient)
{
    static struct {
        int step;
        long bytes;
        double took;
    } before; /* the last size whose time is known */
    const struct measure_step *step = pair->step;
    const int first = before.step != step->number || before.bytes <= 0;
    if (interrupted && first && patient)
        return 1;
    if (interrupted && !first) {
        const double explained = before.took * (double)pair->bytes / (double)before.bytes;
        shortest = shortest < explained ? shortest : explained;
    }
    before.step = step->number;
    before.bytes = pair->bytes;
    before.took = shortest;
    const double room = step->budget_s > step->longest_s ? step->budget_s : step->longest_s;
    return (MEASURE_LEAST_EVER + 1) * shortest < room;
}

static int lead(struct measure_pair *pair)
{
    const struct measure_step *step = pair->step;
    const double start = measure_now();
    struct order order = {.seed = (uint32_t)(step->number * 7919 + pair->bytes), .sentinel = 1};
    warm_up(pair, &order, start + step->budget_s / 2);
    double *clean = malloc((size_t)step->most * sizeof *clean), *all = malloc((size_t)step->most * sizeof *all);
    long count = 0, cleans = 0;
    int failures = 0;
    static int fruitless; /* points since the last that had a sample nobody interrupted */
    const double patience = fruitless < GIVE_UP_AFTER ? PATIENCE : 1;
    double shortest[2] = {1e9, 1e9}; /* of all samples, and of those that nobody interrupted */
    const char *reason = "count";
    while (count < step->most) {
        double took;
        order.seed += 2;
        const struct measure_sample sample = lead_one(pair, &order, &took);
        measure_report_sample(step, step->from[0], step->to[0], pair->bytes, &sample);
        all[count++] = took;
        for (int i = 0; i < (sample.switches ? 1 : 2); i++)
            shortest[i] = took < shortest[i] ? took : shortest[i];
        if (!sample.switches)
            clean[cleans++] = took;
        /* Ends that share a core cannot answer each other: asking would only cost time. */
        failures = sample.sentinel_ns < 0 ? failures + 1 : 0;
        order.sentinel = failures < 3;
        if (count < MEASURE_LEAST_EVER)
            continue;
        const double spent = measure_now() - start;
        if (spent > step->budget_s && (cleans >= MEASURE_LEAST_EVER || spent > patience * step->budget_s)) {
            reason = "budget";
            break;
        }
        if (count < step->least)
            continue;
        if (cleans >= step->least ? measure_narrow(clean, cleans, step->precision)
                                  : measure_narrow(all, count, step->precision)) {
            reason = "interval";
            break;
        }
    }
    fruitless = cleans ? 0 : fruitless + 1;
    free(clean);
    free(all);
    order.messages = 0;
    MPI_Send(&order, sizeof order, MPI_BYTE, pair->peer, MEASURE_TAG_CONTROL, MPI_COMM_WORLD);
    measure_report_point(step, step->from[0], step->to[0], pair->bytes, reason);
    return next_fits(pair, shortest[cleans > 0], !cleans, fruitless < GIVE_UP_AFTER);
}

int measure_repeat(struct measure_pair *pair)
{
    measure_buffers(pair);
    if (pair->step->test->prepare)
        pair->step->test->prepare(pair);
    if (pair->role == 0)
        return lead(pair);
    follow(pair);
    return 1;
}
