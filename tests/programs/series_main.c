/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes notes and samples of 46 columns to stdout, as the recorder does: two lengths and the two runs. Of
 * ROWS times that are 1000 ticks apart it takes those that are due, and the last.
 */
#include <stdio.h>
#include <stdlib.h>

#include "counters/series.h"
#include "store/storage.h"

struct rw_chunk_header *rw_storage_take(uint32_t kind, uint32_t chunks, uint64_t sequence, uint32_t *first) {
    struct rw_chunk_header *run = calloc(chunks, RW_CHUNK_BYTES);
    (void)kind, (void)sequence, (void)first;
    return run;
}

void rw_storage_publish(struct rw_chunk_header *run) {
    run->magic = RW_CHUNK_MAGIC;
}

void rw_storage_seal(struct rw_chunk_header *run, uint64_t bytes, int closed) {
    (void)run, (void)bytes, (void)closed;
}

static void write_run(const struct rw_chunk_header *run) {
    fwrite(&run->used, sizeof run->used, 1, stdout);
    fwrite(run + 1, run->used, 1, stdout);
}

int main(int argc, char **argv) {
    struct rw_series series = {0};
    const uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    if (rw_series_begin(&series, RW_CHUNK_NOTES, 0) != 0)
        return 1;
    rw_add_columns(&series, "cpu", "user", 45);
    rw_add_columns(&series, "user_ns", NULL, 1);
    if (rw_series_open(&series, RW_CHUNK_SAMPLES, 0, 64, NULL) != 0)
        return 1;
    series.samples->interval_ticks = 1000;
    for (uint64_t row = 0; row < rows; row++) {
        if (row % (series.samples->interval_ticks / 1000) != 0 && row + 1 < rows)
            continue;
        rw_series_clear(&series);
        series.values[0] = row;
        series.values[45] = 3 * row;
        rw_series_append(&series, 1000 * (row + 1));
    }
    write_run(series.notes_run);
    write_run(series.samples_run);
    return 0;
}
