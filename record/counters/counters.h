/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank uses of its node, sampled: there is no thread and no signal for that. A sample is taken when a
 * call of the first thread ends and the time for it has come, and at the start and the end.
 */
#ifndef RANKWISE_RECORD_COUNTERS_H
#define RANKWISE_RECORD_COUNTERS_H

#include "thread/thread.h"

/** @brief The rank's place in the file is there, and MPI_Init is about to return: take the first sample. */
RW_HIDDEN void rw_counters_start(struct rw_thread *thread);

/** @brief Between two calls, every 10 ms or so: take a sample if one is due. Clocks and schedstat were just
 * read. */
RW_HIDDEN void rw_counters_sample(struct rw_thread *thread);

/** @brief MPI_Finalize is entered: take the last sample. */
RW_HIDDEN void rw_counters_end(struct rw_thread *thread);

/** @brief Add a note about the process. */
RW_HIDDEN void rw_counters_note(enum rw_note_kind kind, uint32_t count, const char *text);

/** @brief Note what the recorder took before MPI_Init returned, and since MPI_Finalize was entered. */
RW_HIDDEN void rw_counters_set_aside(const struct rw_thread *thread, uint64_t ticks);

/** @brief Store the checksums of the thread's samples. */
RW_HIDDEN void rw_counters_seal(struct rw_thread *thread, int closed);

#endif
