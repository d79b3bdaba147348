/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does the first use of a buffer cost? Networks register memory before they read or write it by
 * themselves, and libraries keep the registration, so the first message from a buffer takes longer than the
 * next. Fresh memory at both ends, its pages touched; V1, V2, V3 are half of the first, second and third
 * round trip.
 */
#include "measure.h"

#include <sys/mman.h>

static char *fresh(long bytes) {
    void *memory = mmap(NULL, (size_t)bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 4);
    return memory;
}

static uint32_t seed;

static void trip(struct measure_pair *pair, char *send, char *receive) {
    const int count = (int)pair->bytes;
    if (pair->role == 0)
        MPI_Send(send, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
    MPI_Recv(receive, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pair->role == 1)
        MPI_Send(send, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
}

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    (void)messages;
    char *send = fresh(pair->bytes), *receive = fresh(pair->bytes);
    seed += 2;
    measure_fill(send, pair->bytes, seed + (uint32_t)pair->role);
    measure_fill(receive, pair->bytes, seed + (uint32_t)pair->role + 100);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, NULL, 0, MPI_BYTE, pair->peer,
                 MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++) {
        const double before = measure_now();
        trip(pair, send, receive);
        value[i] = (measure_now() - before - measure_clock_cost()) / 2;
    }
    if (!measure_matches(receive, pair->bytes, seed + (uint32_t)!pair->role))
        measure_wrong(pair->step, pair->step->from[0], pair->step->to[0], pair->bytes);
    munmap(send, (size_t)pair->bytes + 1);
    munmap(receive, (size_t)pair->bytes + 1);
}

/* Both ends count from the same number, whomever they measured with before. */
static void prepare(struct measure_pair *pair) {
    seed = (uint32_t)pair->step->number;
}

const struct measure_test measure_registration = {.name = "registration", .prepare = prepare, .batch = batch};
