/* SPDX-License-Identifier: BSD-3-Clause */
/* A second thread that computes as long as the first one with its steps; where they have one core, that is
 * the defect. */
#include "defect.h"
#include <pthread.h>

static void *work(void *units) {
    static __thread double value;
    value = compute(*(double *)units);
    return &value;
}

int main(int argc, char **argv) {
    struct defect at = begin(argc, argv);
    double units = 1500000 * at.scale, steps = 100;
    pthread_t other;
    pthread_create(&other, NULL, work, &units);
    for (int step = 0; step < steps; step++) {
        double value = compute(units / steps), sum;
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    pthread_join(other, NULL);
    MPI_Finalize();
    return 0;
}
