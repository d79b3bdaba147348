/* SPDX-License-Identifier: BSD-3-Clause */
/* Walk through the steps of the command line. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int active_pair(const struct measure_step *step, int rank, long bytes) {
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

static int active_group(const struct measure_step *step, int rank, long bytes) {
    struct measure_group group = {.step = step, .bytes = bytes};
    int at = -1;
    for (int i = 0; i < step->pairs; i++)
        if (rank == step->from[i])
            at = i;
    /* In the order of the command line. */
    MPI_Comm_split(MPI_COMM_WORLD, at < 0 ? MPI_UNDEFINED : 0, at, &group.comm);
    if (at < 0)
        return 1;
    MPI_Comm_rank(group.comm, &group.rank);
    MPI_Comm_size(group.comm, &group.size);
    measure_bind(step, at, 0);
    const int fits = measure_repeat_group(&group);
    measure_unbind();
    MPI_Comm_free(&group.comm);
    return fits;
}

/* What rank 0 says of the time there is, unless larger messages do not fit; the others agree. */
static int next_pace(const struct measure_step *step, int rank, int at, int fits) {
    if (!fits)
        return 0;
    return rank == 0 ? measure_pace(step, at) : MEASURE_PACES;
}

static void walk(const struct measure_step *step, int rank) {
    int pace = step->planned_s > 0 ? measure_rest(next_pace(step, rank, 0, 1), 0) : MEASURE_PACES;
    for (int i = 0; i < step->sizes && pace; i++) {
        const struct measure_step *paced = measure_paced(step, pace);
        int fits = 1;
        if (step->test->all)
            step->test->all(paced, step->bytes[i]);
        else if (step->test->group)
            fits = active_group(paced, rank, step->bytes[i]);
        else
            fits = active_pair(paced, rank, step->bytes[i]);
        /* Nobody sits in a collective while others measure, unless that is what is measured. */
        pace = measure_rest(next_pace(step, rank, i + 1, fits), step->waiters != 0);
        measure_others(step, step->bytes[i]);
        measure_flush();
    }
}

int main(int argc, char **argv) {
    int rank, world;
    measure_resident_at_start = measure_resident();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    struct measure_step *step = malloc(sizeof *step);
    char why[512] = "";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "census") != 0 && !measure_parse_step(argv[i], i, world, step, why, sizeof why)) {
            if (rank == 0)
                fprintf(stderr, "rankwise-measure: bad step: %s\n", why);
            MPI_Finalize();
            return 2;
        }
    measure_calibrate();
    measure_pace_start();
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "census") != 0 && measure_parse_step(argv[i], i, world, step, why, sizeof why) &&
            step->test->before_contact)
            for (int at = 0; at < step->sizes; at++)
                step->test->all(step, step->bytes[at]);
    measure_sentinel_start();
    measure_others_start();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "census")) {
            measure_census();
            measure_flush();
            continue;
        }
        measure_parse_step(argv[i], i, world, step, why, sizeof why);
        if (step->test->before_contact)
            measure_flush();
        else
            walk(step, rank);
    }
    if (rank == 0) {
        printf(MEASURE_MARK "end %.3f\n", measure_elapsed());
        fflush(stdout);
    }
    free(step);
    MPI_Finalize();
    return 0;
}
