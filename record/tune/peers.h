/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom the rank sends to, by world rank. */
#ifndef RANKWISE_RECORD_TUNE_PEERS_H
#define RANKWISE_RECORD_TUNE_PEERS_H

#include "process/abi.h"

/** @brief Count a message; MPI_PROC_NULL and ranks of other worlds are left out. */
RW_HIDDEN void rw_tune_count_message(int64_t count, MPI_Datatype type, int destination, MPI_Comm comm);

/** @brief A persistent send exists; or its request is freed, or another one's now. */
RW_HIDDEN void rw_tune_note_persistent(MPI_Request request, int64_t count, MPI_Datatype type, int destination,
                                       MPI_Comm comm);
RW_HIDDEN void rw_tune_forget_persistent(MPI_Request request);

/** @brief It is started: a message, if it is a send. */
RW_HIDDEN void rw_tune_count_started(MPI_Request request);

/** @brief It is freed: its handle will mean something else. */
RW_HIDDEN void rw_tune_forget_communicator(MPI_Comm comm);
RW_HIDDEN void rw_tune_forget_type(MPI_Datatype type);

#endif
