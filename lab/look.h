/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_LAB_LOOK_H
#define RANKWISE_LAB_LOOK_H

/* The shortest sleep: the timer slack, which the lab sets. */
enum { RW_SHORTEST_NS = 1 };

/** @brief This thread has looked for messages: it sleeps if that was the sixth time (look.c). */
void rw_look_or_sleep(void);

/**
 * @brief MPI wants to give up the core: does a poll count that as its own look (poll.c)?
 * @return 1 the first time inside a poll, else 0.
 */
int rw_counted_by_poll(void);

#endif
