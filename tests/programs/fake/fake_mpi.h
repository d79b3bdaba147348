/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI library without processes behind it: rank 1 of 4, whose messages go nowhere and whose receives are
 * complete at once. It hands out handles again as soon as they are freed, as real libraries do. For the
 * recorder under sanitizers.
 */
#ifndef FAKE_MPI_H
#define FAKE_MPI_H

#include "../../../record/process/attach.h"

enum { FAKE_SIZE = 4, FAKE_RANK = 1 };

/* More than one: MPI_THREAD_MULTIPLE is provided. */
extern int fake_threads;

/** @brief Point every function of the list at its stand-in; those without one succeed and do nothing. */
void fake_fill(rw_function next[RW_CALL_COUNT]);

#endif
