/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many messages a second does one rank send another, and how many bytes? A window of n nonblocking sends
 * to posted receives, one empty reply: V1 is the time of the window over n. As in osu_bw, receives of a
 * window share one buffer unless buffers rotate; all messages have the same content.
 */
#include "measure.h"

#include <stdlib.h>

static void batch(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]) {
    static MPI_Request *requests;
    static long room;
    if (messages > room) {
        requests = realloc(requests, (size_t)messages * sizeof(MPI_Request));
        room = messages;
    }
    if (!requests)
        MPI_Abort(MPI_COMM_WORLD, 4);
    const int count = (int)pair->bytes;
    const double before = measure_now();
    for (long i = 0; i < messages; i++) {
        const long at = i % pair->slots * pair->stride;
        if (pair->role == 0)
            MPI_Isend(pair->send + at, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                      &requests[i]);
        else
            MPI_Irecv(pair->receive + at, count, MPI_BYTE, pair->peer, MEASURE_TAG, MPI_COMM_WORLD,
                      &requests[i]);
    }
    MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
    if (pair->role == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, pair->peer, MEASURE_TAG_READY, MPI_COMM_WORLD);
    value[0] = (measure_now() - before - measure_clock_cost()) / (double)messages;
}

const struct measure_test measure_window = {.name = "window", .receivers = 2, .batch = batch};
