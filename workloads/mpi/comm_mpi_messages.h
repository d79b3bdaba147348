/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_WORKLOADS_COMM_MPI_MESSAGES_H
#define RANKWISE_WORKLOADS_COMM_MPI_MESSAGES_H

#include "comm.h"

void comm_mpi_send(struct comm *, int destination, int tag, enum comm_type, int64_t count);
int comm_mpi_isend(struct comm *, int destination, int tag, enum comm_type, int64_t count);
void comm_mpi_ssend(struct comm *, int destination, int tag, enum comm_type, int64_t count);
int comm_mpi_issend(struct comm *, int destination, int tag, enum comm_type, int64_t count);
void comm_mpi_recv(struct comm *, int source, int tag, enum comm_type, int64_t capacity, int64_t count);
int comm_mpi_irecv(struct comm *, int source, int from_any, int tag, enum comm_type, int64_t capacity,
                   int64_t count);
void comm_mpi_wait(struct comm *, int request);
void comm_mpi_waitall(struct comm *, const int *requests, int count);
void comm_mpi_relay(struct comm *, int source, int destination, int tag, enum comm_type, int64_t count);
void comm_mpi_poll(struct comm *);
void comm_mpi_finish_relay(struct comm *);

#endif
