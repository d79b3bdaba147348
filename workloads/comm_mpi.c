/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm_mpi.h"

#include <stdlib.h>

#include "comm_mpi_collectives.h"
#include "comm_mpi_messages.h"
#include "work.h"

static void compute(struct comm *c, double operations) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    if (mpi->factor <= 0)
        return;
    double start = MPI_Wtime();
    work_do(operations * mpi->factor);
    mpi->compute_s += MPI_Wtime() - start;
}

static void timer(struct comm *c, int running) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    if (running) {
        mpi->compute_s = 0;
        mpi->timer_started = MPI_Wtime();
    } else {
        mpi->elapsed_s = mpi->slowest_s = MPI_Wtime() - mpi->timer_started;
    }
}

void comm_mpi_set_up(struct comm_mpi *mpi, enum pattern_extent check, double factor) {
    static const struct comm_calls calls = {
        .send = comm_mpi_send,
        .irecv = comm_mpi_irecv,
        .wait = comm_mpi_wait,
        .barrier = comm_mpi_barrier,
        .bcast = comm_mpi_bcast,
        .reduce = comm_mpi_reduce,
        .reduce_time = comm_mpi_reduce_time,
        .allreduce = comm_mpi_allreduce,
        .alltoall = comm_mpi_alltoall,
        .split = comm_mpi_split,
        .compute = compute,
        .timer = timer,
    };
    *mpi = (struct comm_mpi){.comm = {.calls = &calls}, .check = check, .factor = factor, .group_count = 1};
    mpi->groups[COMM_WORLD] = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi->comm.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi->comm.size);
    for (int i = 0; i < COMM_MPI_REQUESTS; i++)
        mpi->posted[i].request = MPI_REQUEST_NULL;
}

void comm_mpi_tear_down(struct comm_mpi *mpi) {
    for (int i = 0; i < COMM_MPI_REQUESTS; i++)
        free(mpi->posted[i].buffer.bytes);
    free(mpi->out.bytes);
    free(mpi->in.bytes);
    free(mpi->sent.entries);
    free(mpi->received.entries);
}
