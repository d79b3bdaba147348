/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_WORKLOADS_COMM_MPI_COLLECTIVES_H
#define RANKWISE_WORKLOADS_COMM_MPI_COLLECTIVES_H

#include "comm.h"

void comm_mpi_barrier(struct comm *, int group);
void comm_mpi_bcast(struct comm *, int group, enum comm_type, int64_t count, int root);
void comm_mpi_reduce(struct comm *, int group, enum comm_type, int64_t count, enum comm_operation, int root);
void comm_mpi_reduce_time(struct comm *, int root);
void comm_mpi_allreduce(struct comm *, int group, enum comm_type, int64_t count, enum comm_operation);
void comm_mpi_allgather(struct comm *, int group, enum comm_type, int64_t count);
void comm_mpi_alltoall(struct comm *, int group, enum comm_type, int64_t count);
void comm_mpi_alltoallv(struct comm *, int group, int members, enum comm_type, const int64_t *to,
                        const int64_t *from);
int comm_mpi_split(struct comm *, int color, int key);
int comm_mpi_dup(struct comm *, int group);

#endif
