/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repetition of what a whole group does, until its time is known well enough. Rank 0 of the group decides and
 * tells the others before each batch. The time of a batch is that of the rank for which it took longest.
 */
#include "measure.h"

#include <sched.h>

#define MUCH_LONGER 10 /* times a batch; others hardly make it so long */

struct order {
    long messages; /* 0: the point is done */
    uint32_t seed;
    int sentinel;
};

/* One batch on this rank; values, switches and cores of the whole group in the answer. */
static struct measure_sample one(struct measure_group *group, const struct order *order) {
    const struct measure_step *step = group->step;
    const struct measure_group_test *test = step->test->group;
    struct measure_sample sample = {.sentinel_ns = -1, .messages = order->messages, .setting = step->setting};
    double unused[MEASURE_VALUES] = {0};
    test->fill(group, order->seed);
    if (step->test->repeats) {
        /* Once untimed, so that caches are as in a row of operations and not as filling the buffers leaves
         * them. */
        test->batch(group, 1, unused);
        test->fill(group, order->seed);
    }
    if (order->sentinel && group->rank < 2 && group->size > 1) {
        const double line = measure_sentinel(step->from[!group->rank], group->rank, MEASURE_SENTINEL_ROUNDS);
        sample.sentinel_ns = line < 0 ? -1 : line * 1e9;
    }
    MPI_Barrier(group->comm);
    double mine[MEASURE_VALUES + 1] = {0}, all[MEASURE_VALUES + 1];
    const struct measure_moment began = measure_moment();
    const long before = measure_switches();
    const double start = measure_now();
    test->batch(group, order->messages, mine);
    sample.batch_s = measure_now() - start;
    const long switches = measure_switches() - before;
    const double waited = measure_waited(began);
    const int wrong = !test->arrived(group, order->seed), cpu = sched_getcpu();
    int wrongs;
    MPI_Allreduce(mine, all, MEASURE_VALUES, MPI_DOUBLE, test->adds ? MPI_SUM : MPI_MAX, group->comm);
    MPI_Allreduce(&switches, &sample.switches, 1, MPI_LONG, MPI_SUM, group->comm);
    MPI_Allreduce(&waited, &sample.waited, 1, MPI_DOUBLE, MPI_MAX, group->comm);
    MPI_Allreduce(&wrong, &wrongs, 1, MPI_INT, MPI_SUM, group->comm);
    if (wrong)
        measure_wrong(step, step->from[group->rank], step->from[group->rank], group->bytes);
    if (wrongs)
        MPI_Barrier(group->comm); /* who saw it ends all */
    sample.cpu[0] = cpu;
    sample.cpu[1] = cpu;
    MPI_Bcast(&sample.cpu[1], 1, MPI_INT, group->size - 1, group->comm);
    for (int i = 0; i < MEASURE_VALUES; i++)
        sample.value[i] = all[i];
    return sample;
}

static struct measure_sample lead_one(struct measure_group *group, struct order *order, double *took) {
    order->seed += (uint32_t)(group->size * group->size + 1);
    MPI_Bcast(order, sizeof *order, MPI_BYTE, 0, group->comm);
    const double before = measure_now();
    const struct measure_sample sample = one(group, order);
    *took = group->step->test->repeats ? sample.value[0] * (double)order->messages : measure_now() - before;
    return sample;
}

/*
 * As many messages as `batch_s` has room for, at most `messages`: twice as many each time, until they take
 * half of it. The first one tells nothing, as ranks meet in it that did not talk before.
 */
static void fit(struct measure_group *group, struct order *order) {
    const struct measure_step *step = group->step;
    double took;
    order->messages = 1;
    lead_one(group, order, &took);
    for (;;) {
        double batch = lead_one(group, order, &took).batch_s;
        /* What others took from one batch does not decide for all of the point. One message that takes far
         * longer than a batch stays one. */
        const int alone = order->messages == 1 && batch > MUCH_LONGER * step->batch_s;
        if (batch >= step->batch_s / 2 && !alone) {
            const double again = lead_one(group, order, &took).batch_s;
            batch = again < batch ? again : batch;
        }
        const double room = batch > 0 ? (double)order->messages * step->batch_s / batch : 2e9;
        if (batch < step->batch_s / 2 && order->messages < step->messages) {
            order->messages = 2 * order->messages < step->messages ? 2 * order->messages : step->messages;
            continue;
        }
        if (room < (double)order->messages)
            order->messages = room < 1 ? 1 : (long)room;
        return;
    }
}

static void warm_up(struct measure_group *group, struct order *order, double until) {
    const int repeats = group->step->test->repeats;
    order->messages = repeats ? 1 : group->step->messages;
    for (int i = 0; i < MEASURE_WARM_BATCHES || (repeats && order->messages < MEASURE_MOST_MESSAGES); i++) {
        double took;
        lead_one(group, order, &took);
        if (measure_now() > until ||
            (took >= group->step->batch_s && (!repeats || i + 1 >= MEASURE_WARM_BATCHES)))
            return;
        if (repeats && took < group->step->batch_s)
            order->messages *= 2;
    }
}

static int lead(struct measure_group *group) {
    const struct measure_step *step = group->step;
    const int last = step->from[group->size - 1];
    struct measure_until until;
    struct order order = {.seed = (uint32_t)(step->number * 7919 + group->bytes), .sentinel = 1};
    measure_until_begin(&until, step, group->bytes);
    if (step->test->group->fits) {
        fit(group, &order);
        until.messages = order.messages;
    } else
        warm_up(group, &order, until.start + step->budget_s / 2);
    int failures = 0;
    const char *reason = NULL;
    while (!reason) {
        double took;
        const struct measure_sample sample = lead_one(group, &order, &took);
        measure_report_sample(step, step->from[0], last, group->bytes, &sample);
        failures = sample.sentinel_ns < 0 ? failures + 1 : 0;
        order.sentinel = failures < 3;
        reason = measure_until_took(&until, step->test->repeats ? sample.value[0] : took, sample.switches);
    }
    order.messages = 0;
    MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, group->comm);
    measure_report_point(step, step->from[0], last, group->bytes, reason);
    return measure_until_end(&until);
}

int measure_repeat_group(struct measure_group *group) {
    measure_room((size_t)group->step->test->group->room(group) + 1, &group->send, &group->receive);
    if (group->rank == 0)
        return lead(group);
    for (;;) {
        struct order order;
        MPI_Bcast(&order, sizeof order, MPI_BYTE, 0, group->comm);
        if (!order.messages)
            return 1;
        one(group, &order);
    }
}
