/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the ranks in the lab, where many of them share one core of the host.
 *
 * A rank of Open MPI (mpi_yield_when_idle) that waits calls sched_yield() in a loop. Linux's fair scheduler gives no
 * promise about it: since 6.6 each call moves the caller's deadline on, and a rank that has called it thousands of
 * times is then not run for seconds, while the others wait for its message. So a waiting rank sleeps instead, for the
 * shortest time there is: the timer slack, which the lab sets.
 */
#include <time.h>

__attribute__((visibility("default"))) int sched_yield(void)
{
    const struct timespec shortest = {0, 1};
    nanosleep(&shortest, NULL);
    return 0;
}
