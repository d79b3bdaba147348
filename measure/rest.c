/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting without a core: MPI's own barriers spin, and would take time from the ranks that are measured. */
#include "measure.h"

#include <time.h>

int measure_rest(int number, int in_mpi) {
    int least = number;
    MPI_Request request;
    MPI_Iallreduce(&number, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    if (in_mpi) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return least;
    }
    /* Libraries that progress only inside calls must be called now and then; the first wait is short, as most
     * are. */
    long sleep_ns = 20000;
    for (int done = 0;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            return least;
        const struct timespec pause = {0, sleep_ns};
        nanosleep(&pause, NULL);
        sleep_ns = sleep_ns < 2000000 ? sleep_ns * 2 : sleep_ns;
    }
}
