/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI back end: sends patterns, checks what arrives, does the computation's stand-in, times. */
#ifndef RANKWISE_WORKLOADS_COMM_MPI_H
#define RANKWISE_WORKLOADS_COMM_MPI_H

#include "comm_mpi_support.h"

/* @brief Ready the back end; MPI is initialised. */
void comm_mpi_set_up(struct comm_mpi *, enum pattern_extent check, double factor);

void comm_mpi_tear_down(struct comm_mpi *);

#endif
