/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of small files of /proc and /sys as one tar archive, made in memory and written at once, below the
 * file size limit. One at a time, and by one thread.
 */
#ifndef RANKWISE_RECORD_ARCHIVE_H
#define RANKWISE_RECORD_ARCHIVE_H

#include <stddef.h>

#define RW_ARCHIVE_HIDDEN __attribute__((visibility("hidden")))

/** @brief Add a copy of the regular file `path` under its own name or, if `name` is not NULL, that; if it can
 * be read. */
RW_ARCHIVE_HIDDEN void rw_archive_file(const char *path, const char *name);

/** @brief Begin a file that is given in parts by rw_archive_put(). @return 0, or -1 without memory */
RW_ARCHIVE_HIDDEN int rw_archive_begin(void);

RW_ARCHIVE_HIDDEN void rw_archive_put(const char *text, size_t bytes);

/** @brief End the file; one that did not fit is left out. */
RW_ARCHIVE_HIDDEN void rw_archive_end(const char *name);

/**
 * @brief Write the archive with its checksum, which is empty again then, and close `file`.
 * @return 0, or -1 where it does not fit: that leaves an empty file
 */
RW_ARCHIVE_HIDDEN int rw_archive_save(int file);

#endif
