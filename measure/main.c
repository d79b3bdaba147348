/* SPDX-License-Identifier: BSD-3-Clause */
/* Walk through the steps of the command line. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int active_pair(const struct measure_step *step, int rank, long bytes)
{
    if (rank != step->from[0] && rank != step->to[0])
        return 1;
    const int role = rank == step->to[0];
    struct measure_pair pair = {.step = step, .role = role, .bytes = bytes};
    pair.peer = role ? step->from[0] : step->to[0];
    measure_bind(step, 0, role);
    const int fits = measure_repeat(&pair);
    measure_unbind();
    return fits;
}

static void walk(const struct measure_step *step, int rank)
{
    for (int i = 0, fits = 1; i < step->sizes && fits; i++) {
        if (step->test->all)
            step->test->all(step, step->bytes[i]);
        else
            fits = active_pair(step, rank, step->bytes[i]);
        /* Nobody sits in a collective while others measure. */
        fits = measure_rest(fits);
        measure_flush();
    }
}

int main(int argc, char **argv)
{
    int rank, world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    struct measure_step *step = malloc(sizeof *step);
    char why[512] = "";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "census") && !measure_parse_step(argv[i], i, world, step, why, sizeof why)) {
            if (rank == 0)
                fprintf(stderr, "rankwise-measure: bad step: %s\n", why);
            MPI_Finalize();
            return 2;
        }
    measure_calibrate();
    measure_sentinel_start();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "census")) {
            measure_census();
            measure_flush();
            continue;
        }
        measure_parse_step(argv[i], i, world, step, why, sizeof why);
        walk(step, rank);
    }
    if (rank == 0) {
        printf(MEASURE_MARK "end\n");
        fflush(stdout);
    }
    free(step);
    MPI_Finalize();
    return 0;
}
