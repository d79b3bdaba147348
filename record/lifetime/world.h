/* SPDX-License-Identifier: BSD-3-Clause */
/* From when the ranks of the world are known to when MPI ends. */
#ifndef RANKWISE_RECORD_WORLD_H
#define RANKWISE_RECORD_WORLD_H

#include "thread/thread.h"

/** @brief MPI_Init returned: learn the world, open the file, store the calling thread. */
RW_HIDDEN void rw_world_start(struct rw_thread *thread, int provided, uint64_t init_ticks);

/** @brief MPI_Session_init returned, and MPI_Init was not called: the world is the process set mpi://WORLD.
 */
RW_HIDDEN void rw_world_start_session(struct rw_thread *thread, void *session, uint64_t init_ticks);

/** @brief MPI_Finalize (or the last MPI_Session_finalize) is entered. */
RW_HIDDEN void rw_world_finish(struct rw_thread *thread, uint64_t now);

/** @brief MPI_Finalize (or the last MPI_Session_finalize) has returned, and its own call is recorded. */
RW_HIDDEN void rw_world_close(void);

/** @brief MPI_Abort is entered. */
RW_HIDDEN void rw_world_abort(void);

#endif
