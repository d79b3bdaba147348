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

static void kernel(struct comm *c, enum comm_kernel kernel, int64_t m, int64_t n, int64_t k, int64_t times) {
    double operations = (double)times * comm_kernel_operations(kernel, m, n, k);
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    if (mpi->parts > 0) {
        mpi->operations += operations;
        return;
    }
    if (kernel != COMM_SWEEP || mpi->factor <= 0) {
        compute(c, operations);
        return;
    }
    double start = MPI_Wtime();
    if (!work_over((size_t)m, operations * mpi->factor))
        comm_mpi_end_job(mpi, "there is no memory for data of", (double)m, "numbers");
    mpi->compute_s += MPI_Wtime() - start;
}

static void divide(struct comm *c, int parts) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    double each = mpi->parts > 0 ? mpi->operations / mpi->parts : 0;
    int left = mpi->parts;
    for (; left > 0 && mpi->relay.is_open; left--) {
        compute(c, each);
        comm_mpi_poll(c);
    }
    compute(c, left * each);
    mpi->parts = parts;
    mpi->operations = 0;
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

static void messages_on(struct comm *c, int group) {
    struct comm_mpi *mpi = (struct comm_mpi *)c;
    mpi->messages_on = mpi->groups[group].communicator;
}

void comm_mpi_set_up(struct comm_mpi *mpi, enum pattern_extent check, double factor) {
    static const struct comm_calls calls = {
        .send = comm_mpi_send,
        .isend = comm_mpi_isend,
        .ssend = comm_mpi_ssend,
        .issend = comm_mpi_issend,
        .recv = comm_mpi_recv,
        .irecv = comm_mpi_irecv,
        .wait = comm_mpi_wait,
        .waitall = comm_mpi_waitall,
        .relay = comm_mpi_relay,
        .poll = comm_mpi_poll,
        .finish_relay = comm_mpi_finish_relay,
        .barrier = comm_mpi_barrier,
        .bcast = comm_mpi_bcast,
        .reduce = comm_mpi_reduce,
        .reduce_time = comm_mpi_reduce_time,
        .allreduce = comm_mpi_allreduce,
        .allgather = comm_mpi_allgather,
        .alltoall = comm_mpi_alltoall,
        .alltoallv = comm_mpi_alltoallv,
        .split = comm_mpi_split,
        .dup = comm_mpi_dup,
        .messages_on = messages_on,
        .compute = compute,
        .kernel = kernel,
        .divide = divide,
        .timer = timer,
    };
    *mpi = (struct comm_mpi){.comm = {.calls = &calls},
                             .check = check,
                             .factor = factor,
                             .group_count = 1,
                             .messages_on = MPI_COMM_WORLD};
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi->comm.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi->comm.size);
    mpi->groups[COMM_WORLD] = (struct group){MPI_COMM_WORLD, mpi->comm.rank, mpi->comm.size, 0};
}

void comm_mpi_tear_down(struct comm_mpi *mpi) {
    for (int i = 0; i < mpi->request_count; i++)
        free(mpi->requests[i].buffer.bytes);
    free(mpi->requests);
    free(mpi->out.bytes);
    free(mpi->in.bytes);
    free(mpi->working.bytes);
    free(mpi->sent.entries);
    free(mpi->received.entries);
}
