/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of /proc and /sys that are kept open and read again for each sample, without memory from the heap.
 * Tests put other trees in place of /proc and /sys by RANKWISE_PROC and RANKWISE_SYS.
 */
#ifndef RANKWISE_RECORD_KEPT_H
#define RANKWISE_RECORD_KEPT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RW_KEPT_HIDDEN __attribute__((visibility("hidden")))

struct rw_kept {
    int file; /* -1: not open */
    uint64_t device, inode;
};
#define RW_NOT_KEPT {.file = -1}

/** @brief Path of a file below /proc or /sys, `name` beginning with one of these. */
RW_KEPT_HIDDEN void rw_root_path(char *path, size_t bytes, const char *name);

/**
 * @brief Move a descriptor to where programs rarely have theirs.
 * @return its number there; -1 if there is no room, and then it is closed
 */
RW_KEPT_HIDDEN int rw_out_of_the_way(int file);

/** @brief Open a file for reading. @return 0 or errno */
RW_KEPT_HIDDEN int rw_keep(struct rw_kept *kept, const char *name);

/** @brief Close it. */
RW_KEPT_HIDDEN void rw_drop(struct rw_kept *kept);

/* A file as characters, from its beginning. */
struct rw_reader {
    const struct rw_kept *kept;
    off_t offset;
    size_t at, end;
    char text[16384];
};

/**
 * @brief Begin to read from the start of the file.
 * @return 0, or -1 if the program has closed the descriptor, which may be another file by now
 */
RW_KEPT_HIDDEN int rw_read_again(struct rw_reader *reader, const struct rw_kept *kept);

/** @brief Have the next part of the file in `text`. @return whether there is one */
RW_KEPT_HIDDEN int rw_read_on(struct rw_reader *reader);

/** @return the next character, -1 at the end */
static inline int rw_peek(struct rw_reader *reader) {
    if (reader->at == reader->end && !rw_read_on(reader))
        return -1;
    return (unsigned char)reader->text[reader->at];
}

/** @brief Step over blanks (not over line ends). @return the next character */
static inline int rw_skip_blanks(struct rw_reader *reader) {
    int next;
    while ((next = rw_peek(reader)) == ' ' || next == '\t')
        reader->at++;
    return next;
}

/** @brief Step behind the end of the line. @return whether there is another line */
static inline int rw_skip_line(struct rw_reader *reader) {
    int next;
    while ((next = rw_peek(reader)) >= 0 && next != '\n')
        reader->at++;
    if (next == '\n')
        reader->at++;
    return rw_peek(reader) >= 0;
}

/** @brief Read a decimal number behind blanks. @return whether there was one */
static inline int rw_number(struct rw_reader *reader, uint64_t *value) {
    int next = rw_skip_blanks(reader), digits = 0;
    for (*value = 0; next >= '0' && next <= '9'; next = rw_peek(reader), digits++) {
        *value = *value * 10 + (uint64_t)(next - '0');
        reader->at++;
    }
    return digits > 0;
}

/**
 * @brief Read what stands between blanks, up to a colon or line end; what does not fit is left out.
 * @return how many characters it had
 */
RW_KEPT_HIDDEN size_t rw_word(struct rw_reader *reader, char *word, size_t bytes);

/** @brief The number behind `NAME:` at the begin of a line of a file that is opened for that. @return whether
 * it was there */
RW_KEPT_HIDDEN int rw_look_up(struct rw_reader *reader, const char *file, const char *name, uint64_t *value);

#endif
