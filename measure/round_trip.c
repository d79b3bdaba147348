/* SPDX-License-Identifier: BSD-3-Clause */
/* A round trip, roughly. */
#include "measure.h"

#define TRIPS 11

void measure_trip(struct measure_pair *pair) {
    if (pair->role == 0)
        MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
    MPI_Recv(pair->receive, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (pair->role == 1)
        MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD);
}

/* The median: libraries that sleep while they wait vary much. */
double measure_round_trip(struct measure_pair *pair) {
    double took[TRIPS];
    for (int i = 0; i < TRIPS; i++) {
        const double before = measure_now();
        measure_trip(pair);
        took[i] = measure_now() - before;
    }
    return measure_median(took, TRIPS);
}
