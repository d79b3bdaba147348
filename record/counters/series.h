/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples over time and notes about them in the node's file (formats/recording.h, rw_samples and rw_note). */
#ifndef RANKWISE_RECORD_SERIES_H
#define RANKWISE_RECORD_SERIES_H

#include "../formats/recording.h"
#include "process/next.h"

/* Samples of a rank, and those of a node, take at most so small a part of the time. */
#define RW_SAMPLES_MOST_PART 500u

struct rw_series {
    struct rw_chunk_header *notes_run; /* NULL: nothing is noted */
    struct rw_chunk_header *samples_run;
    struct rw_samples *samples;
    uint64_t *rows;
    uint64_t *values; /* of the row that is being made */
    uint32_t columns, columns_crc;
    uint32_t dropped_notes;
    uint64_t typical_cost; /* of a sample, ticks */
};

/** @brief A list of these is what is sampled, of a rank or of a node. */
struct rw_source {
    /** Add its columns to the series, or note why there are none. */
    void (*open)(struct rw_series *series);
    /** Read as many values as it has columns; they are RW_NOT_KNOWN before. */
    void (*read)(uint64_t *values);
};

/** @brief Take the run of notes. @return 0, or -1 without space */
RW_HIDDEN int rw_series_begin(struct rw_series *series, uint32_t kind, uint32_t rank_chunk);

/** @brief Have `count` more columns. @param of of which interface or the like, NULL for none */
RW_HIDDEN void rw_add_columns(struct rw_series *series, const char *what, const char *of, uint32_t count);

/** @brief Have a column for each of several names, which end with NULL. */
RW_HIDDEN void rw_add_each(struct rw_series *series, const char *const *names);

RW_HIDDEN void rw_note(struct rw_series *series, enum rw_note_kind kind, uint32_t count, const char *text);

/** @brief Note that a source is not there. @param error errno, or 0; @param why more words, NULL for none */
RW_HIDDEN void rw_note_absent(struct rw_series *series, const char *source, int error, const char *why);

RW_HIDDEN void rw_note_fact(struct rw_series *series, const char *name, uint64_t value);

/** @brief Note a set of PUs as `0-3,8`. */
RW_HIDDEN void rw_note_pus(struct rw_series *series, enum rw_note_kind kind, const uint64_t *bits,
                           unsigned words);

/** @brief Make `values`, for all columns that were added. @return 0, or -1 without memory */
RW_HIDDEN int rw_series_values(struct rw_series *series);

/**
 * @brief Take the run of samples for the columns that were added, and make both runs visible.
 * @param least_rows for which there is to be room
 * @return 0, or -1 without space
 */
RW_HIDDEN int rw_series_open(struct rw_series *series, uint32_t kind, uint32_t rank_chunk,
                             uint32_t least_rows, uint32_t *first_chunk);

/** @brief Use the run of samples that another rank made for the same columns. */
RW_HIDDEN void rw_series_join(struct rw_series *series, struct rw_chunk_header *run);

/** @brief Make `values` those of a row without any. */
RW_HIDDEN void rw_series_clear(struct rw_series *series);

/** @brief Add the row `values`, and halve what is there when it is full. */
RW_HIDDEN void rw_series_append(struct rw_series *series, uint64_t ticks);

/**
 * @brief When the next sample is due, after one from `begin` to `end`.
 *
 * Not before the interval is over, and so late that samples cost at most 1/500 of the time, whatever was
 * asked for.
 */
RW_HIDDEN uint64_t rw_series_next(struct rw_series *series, uint64_t begin, uint64_t end);

/** @brief Store the checksums. */
RW_HIDDEN void rw_series_seal(struct rw_series *series, int closed);

#endif
