/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the ranks in the lab, where many of them share one core of the host.
 *
 * A rank of Open MPI (mpi_yield_when_idle) that waits calls sched_yield() in a loop. Linux's fair scheduler
 * gives no promise about it: since 6.6 each call moves the caller's deadline on, and a rank that has called
 * it thousands of times is then not run for seconds, while the others wait for its message. So a waiting rank
 * sleeps instead, for the shortest time there is: the timer slack, which the lab sets. A rank of MPICH
 * (MPIR_CVAR_ENABLE_HEAVY_YIELD) sleeps so of itself.
 *
 * Both give up their core after each look for messages, MPICH also after one that has found what it waits
 * for, and Open MPI may need two looks for a message from another node. With a sleep after each, a message
 * would cost up to two sleeps more than its way. So a rank sleeps only after every sixth look: waits for what
 * is there already count too, and with every third one in three of MPICH's would sleep.
 */
#include "look.h"
#include "now.h"
#include "usage.h"

#include <stddef.h>
#include <time.h>

enum { LOOKS = 6 };

static int awake;

/* For experiments on messages themselves (bench/interrupts): a rank that has a core looks all the time. */
__attribute__((visibility("default"))) void rankwise_lab_keep_awake(int on) {
    __atomic_store_n(&awake, on, __ATOMIC_RELAXED);
}

void rw_look_or_sleep(void) {
    static _Thread_local int looks;
    if (__atomic_load_n(&awake, __ATOMIC_RELAXED))
        return;
    const int64_t now_ns = rw_now_ns();
    rw_count_look(now_ns);
    if (++looks < LOOKS)
        return;
    looks = 0;
    const struct timespec shortest = {0, RW_SHORTEST_NS};
    clock_nanosleep(CLOCK_REALTIME, 0, &shortest, NULL);
    rw_count_sleep(now_ns, rw_now_ns());
}
