/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters/series.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../formats/crc32c.h"
#include "process/ticks.h"
#include "store/storage.h"

#define MOST_CHUNKS 256u /* 16 MiB */

int rw_series_begin(struct rw_series *series, uint32_t kind, uint32_t rank_chunk) {
    series->notes_run = rw_storage_take(kind, 1, 0, NULL);
    if (!series->notes_run)
        return -1;
    series->notes_run->rank_chunk = rank_chunk;
    return 0;
}

void rw_note(struct rw_series *series, enum rw_note_kind kind, uint32_t count, const char *text) {
    struct rw_chunk_header *run = series->notes_run;
    const size_t length = strlen(text), padded = (length + 7) / 8 * 8, all = RW_CHUNK_BYTES - sizeof *run;
    /* What comes at the end has room, however often the mask changes before. */
    const size_t room = kind == RW_NOTE_ALLOWED || kind == RW_NOTE_SET_BY ? all / 4 * 3 : all;
    if (!run || run->used + sizeof(struct rw_note) + padded > room) {
        series->dropped_notes++;
        return;
    }
    const struct rw_note note = {
        .ticks = rw_ticks(), .kind = kind, .count = count, .bytes = (uint32_t)length};
    unsigned char *at = (unsigned char *)(run + 1) + run->used;
    memcpy(at, &note, sizeof note);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): the note has its length
    memcpy(at + sizeof note, text, length);
    __atomic_store_n(&run->used, run->used + sizeof note + padded, __ATOMIC_RELEASE);
}

void rw_add_columns(struct rw_series *series, const char *what, const char *of, uint32_t count) {
    char text[256];
    snprintf(text, sizeof text, of ? "%s:%s" : "%s", what, of);
    rw_note(series, RW_NOTE_COLUMNS, count, text);
    series->columns += count;
    series->columns_crc = rw_crc32c(series->columns_crc, text, strlen(text));
    series->columns_crc = rw_crc32c(series->columns_crc, &count, sizeof count);
}

void rw_add_each(struct rw_series *series, const char *const *names) {
    for (; *names; names++)
        rw_add_columns(series, *names, NULL, 1);
}

void rw_note_absent(struct rw_series *series, const char *source, int error, const char *why) {
    char text[256];
    snprintf(text, sizeof text, "%s\t%s", source, why ? why : "");
    rw_note(series, RW_NOTE_ABSENT, (uint32_t)error, text);
}

void rw_note_fact(struct rw_series *series, const char *name, uint64_t value) {
    char text[256];
    if (value >> RW_MOST_FACT_BITS)
        return;
    snprintf(text, sizeof text, "%s\t%llu", name, (unsigned long long)value);
    rw_note(series, RW_NOTE_FACT, 0, text);
}

void rw_note_pus(struct rw_series *series, enum rw_note_kind kind, const uint64_t *bits, unsigned words) {
    char text[8192];
    size_t used = 0;
    const unsigned end = 64 * words;
    for (unsigned pu = 0; pu < end && used < sizeof text - 16; pu++) {
        if (!(bits[pu / 64] >> (pu % 64) & 1))
            continue;
        const unsigned first = pu;
        while (pu + 1 < end && (bits[(pu + 1) / 64] >> ((pu + 1) % 64) & 1))
            pu++;
        used += (size_t)snprintf(text + used, sizeof text - used, first == pu ? "%s%u" : "%s%u-%u",
                                 used ? "," : "", first, pu);
    }
    text[used] = 0;
    rw_note(series, kind, 0, text);
}

int rw_series_values(struct rw_series *series) {
    void *memory = mmap(NULL, (series->columns + 1) * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    series->values = memory == MAP_FAILED ? NULL : memory;
    return series->values ? 0 : -1;
}

void rw_series_join(struct rw_series *series, struct rw_chunk_header *run) {
    series->samples_run = run;
    series->samples = (struct rw_samples *)(run + 1);
    series->rows = (uint64_t *)(series->samples + 1);
}

int rw_series_open(struct rw_series *series, uint32_t kind, uint32_t rank_chunk, uint32_t least_rows,
                   uint32_t *first_chunk) {
    const uint64_t head = sizeof(struct rw_chunk_header) + sizeof(struct rw_samples);
    const uint64_t row = (series->columns + 1) * sizeof(uint64_t);
    uint64_t chunks = (head + least_rows * row + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES;
    chunks = chunks > MOST_CHUNKS ? MOST_CHUNKS : chunks;
    /* Even, so that what is left when every second one goes is as far from the next as from each other. */
    const uint64_t room = (chunks * RW_CHUNK_BYTES - head) / row / 2 * 2;
    /* The notes are there even without samples. */
    rw_storage_publish(series->notes_run);
    if (room < 4 || rw_series_values(series) != 0)
        return -1;
    struct rw_chunk_header *const run = rw_storage_take(kind, (uint32_t)chunks, 0, first_chunk);
    if (!run)
        return -1;
    rw_series_join(series, run);
    series->samples->columns = series->columns;
    series->samples->columns_crc = series->columns_crc;
    series->samples->room = (uint32_t)room;
    series->samples_run->rank_chunk = rank_chunk;
    series->samples_run->used = sizeof *series->samples;
    rw_storage_publish(series->samples_run);
    return 0;
}

void rw_series_clear(struct rw_series *series) {
    for (uint32_t column = 0; column < series->columns; column++)
        series->values[column] = RW_NOT_KNOWN;
}

/*
 * A row is there once its ticks are: readers drop what was left half done. Counters of some drivers wrap
 * below 0; readers take such a number for damage of the file.
 */
static void put_row(uint64_t *row, uint64_t ticks, const uint64_t *values, uint64_t columns) {
    __atomic_store_n(row, 0, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < columns; i++) {
        const int known = values[i] >> RW_MOST_TIME_BITS == 0 || values[i] == RW_NOT_READ;
        row[1 + i] = known ? values[i] : RW_NOT_KNOWN;
    }
    __atomic_store_n(row, ticks, __ATOMIC_RELEASE);
}

static void halve(struct rw_series *series) {
    struct rw_samples *samples = series->samples;
    const uint64_t columns = samples->columns, width = columns + 1, kept = (samples->rows + 1) / 2;
    for (uint64_t row = 1; row < kept; row++) {
        const uint64_t *from = series->rows + 2 * row * width;
        put_row(series->rows + row * width, from[0], from + 1, columns);
    }
    samples->rows = kept;
    if (samples->interval_ticks < UINT64_MAX / 2)
        samples->interval_ticks *= 2;
    memset(series->rows + kept * width, 0, (samples->room - kept) * width * sizeof(uint64_t));
}

void rw_series_append(struct rw_series *series, uint64_t ticks) {
    struct rw_samples *samples = series->samples;
    const uint64_t width = samples->columns + 1;
    if (samples->rows >= samples->room)
        halve(series);
    put_row(series->rows + samples->rows * width, ticks, series->values, samples->columns);
    samples->rows++;
    samples->taken++;
    series->samples_run->used = sizeof *samples + samples->rows * width * sizeof(uint64_t);
}

/* One that was interrupted says little of the others. */
static uint64_t typical_cost(uint64_t before, uint64_t cost) {
    const uint64_t rising = before + before / 4;
    return before && cost > rising ? rising : cost;
}

uint64_t rw_series_next(struct rw_series *series, uint64_t begin, uint64_t end) {
    series->typical_cost = typical_cost(series->typical_cost, end - begin);
    const uint64_t interval = series->samples->interval_ticks;
    const uint64_t least = RW_SAMPLES_MOST_PART * series->typical_cost;
    if (interval >= UINT64_MAX / 2)
        return UINT64_MAX;
    return begin + (interval > least ? interval : least);
}

void rw_series_seal(struct rw_series *series, int closed) {
    if (series->notes_run)
        rw_storage_seal(series->notes_run, series->notes_run->used, closed);
    if (series->samples_run)
        rw_storage_seal(series->samples_run, series->samples_run->used, closed);
}
