/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines from all ranks to rank 0's stdout. */
#include "measure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *text;
static size_t used, room;

void measure_line(const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const size_t kept = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    const size_t mark = sizeof MEASURE_MARK - 1;
    if (used + mark + kept + 1 > room) {
        room = 2 * (used + mark + kept + 1);
        text = realloc(text, room);
        if (!text)
            MPI_Abort(MPI_COMM_WORLD, 4);
    }
    memcpy(text + used, MEASURE_MARK, mark);
    memcpy(text + used + mark, line, kept);
    used += mark + kept;
    text[used++] = '\n';
}

void measure_report_sample(const struct measure_step *step, int from, int to, long bytes,
                           const struct measure_sample *sample) {
    measure_line("sample %d %s %d %d %d %ld %ld %ld %.1f %d %d %.4e %.4e %.4e %.4e %.4e %ld %ld %.4f",
                 step->number, step->test->name, step->pairs, from, to, bytes, sample->messages,
                 sample->switches, sample->sentinel_ns, sample->cpu[0], sample->cpu[1], sample->value[0],
                 sample->value[1], sample->value[2], sample->value[3], sample->value[4], sample->setting,
                 step->rotate_bytes, sample->waited);
}

void measure_report_point(const struct measure_step *step, int from, int to, long bytes, const char *reason) {
    measure_line("point %d %s %d %d %d %ld %s", step->number, step->test->name, step->pairs, from, to, bytes,
                 reason);
}

void measure_flush(void) {
    int rank, world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    const int mine = (int)used;
    int *lengths = calloc((size_t)world, sizeof *lengths);
    int *starts = calloc((size_t)world, sizeof *starts);
    MPI_Gather(&mine, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
    size_t total = 0;
    for (int i = 0; i < world && rank == 0; i++) {
        starts[i] = (int)total;
        total += (size_t)lengths[i];
    }
    char *all = malloc(total + 1);
    MPI_Gatherv(text, mine, MPI_CHAR, all, lengths, starts, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        fwrite(all, 1, total, stdout);
        fflush(stdout);
    }
    free(all);
    free(starts);
    free(lengths);
    used = 0;
}

void measure_die(int status) {
    fflush(stdout);
    fflush(stderr);
    /* Some launchers end at once when a rank aborts, and drop what it said last. */
    const struct timespec pause = {0, 500000000};
    nanosleep(&pause, NULL);
    MPI_Abort(MPI_COMM_WORLD, status);
}

void measure_wrong(const struct measure_step *step, int from, int to, long bytes) {
    printf(MEASURE_MARK "wrong %d %s %d %d %d %ld\n", step->number, step->test->name, step->pairs, from, to,
           bytes);
    measure_die(3);
}
