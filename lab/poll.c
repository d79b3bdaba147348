/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that look for messages and return at once. A program that waits in a loop of them keeps its core
 * busy: MPICH gives it up inside calls that wait only. Where the core is shared, the ranks it waits for then
 * do not get on. So a poll that finds nothing is a look like any other (look.c).
 *
 * A program that works between its polls is no waiting one, and must not be slowed. A loop that does nothing
 * else comes back within a few microseconds, those of a recorder included; who sleeps after every sixth look
 * pays some 50 us for each. If a poll begins more than 20 us after the last that found nothing, the program
 * has worked (or was not run) meanwhile: what it could have saved is less than the sleep would cost it.
 */
#include <stdint.h>

#include "look.h"
#include "next.h"
#include "now.h"

enum { WORK_NS = 20000 };

/* Polls may be inside each other: a tool's MPI_Test calls PMPI_Test. The outermost counts. */
static _Thread_local struct {
    int depth, gave_up;
    int64_t began_ns, found_nothing_ns;
} poll;

int rw_counted_by_poll(void) {
    return poll.depth && !poll.gave_up++;
}

static void begin(void) {
    if (poll.depth++)
        return;
    poll.gave_up = 0;
    poll.began_ns = rw_now_ns();
}

static void end(intptr_t result, intptr_t flag) {
    if (--poll.depth || (int)result || *(const int *)flag)
        return;
    if (poll.began_ns - poll.found_nothing_ns <= WORK_NS)
        rw_look_or_sleep();
    poll.found_nothing_ns = rw_now_ns();
}

#define POLL(name, parameters, flag)                                                                         \
    ENTRY(MPI_, name, parameters, begin(), end(result, flag))                                                \
    ENTRY(PMPI_, name, parameters, begin(), end(result, flag))

POLL(Iprobe, 5, a4)
POLL(Improbe, 6, a4)
POLL(Test, 3, a2)
POLL(Testall, 4, a3)
POLL(Testany, 5, a4)
POLL(Testsome, 5, a3) /* how many have ended; without active requests MPI_UNDEFINED, which is not 0 */
POLL(Request_get_status, 3, a2)
