/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs with a planted defect share: `./program defect|mended [seconds]`. */
#ifndef RANKWISE_TESTS_DEFECT_H
#define RANKWISE_TESTS_DEFECT_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct defect {
    int planted; /* 0: the program is mended */
    int rank, ranks;
    double scale; /* of all times; 1 if not said */
};

static inline struct defect begin(int argc, char **argv) {
    struct defect found = {.planted = argc < 2 || strcmp(argv[1], "mended") != 0,
                           .scale = argc > 2 ? atof(argv[2]) : 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &found.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &found.ranks);
    return found;
}

/* Work of a fixed amount, not of a fixed time: a slower core takes longer. One unit is about a microsecond.
 */
static inline double compute(double units) {
    volatile double value = 1.0;
    for (long i = 0; i < (long)(units * 400); i++) {
        value = value * 0.999999 + 1e-6;
    }
    return value;
}

#endif
