/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's file (formats/recording.h): every rank of the node takes runs of chunks from it and maps them.
 */
#ifndef RANKWISE_RECORD_STORAGE_H
#define RANKWISE_RECORD_STORAGE_H

#include <stdint.h>

#include "../formats/recording.h"

#define RW_STORAGE_HIDDEN __attribute__((visibility("hidden")))

/**
 * @brief Create or join DIRECTORY/raw/HOST.NODE.RUN.rwn, RUN being of RANKWISE_RUN.
 * @return NULL, or why nothing can be stored.
 */
RW_STORAGE_HIDDEN const char *rw_storage_open(const char *directory, const char *host);

/**
 * @brief Take `chunks` consecutive chunks, allocated by the file system, zero, and mapped.
 *
 * `magic` is left 0: the run is invisible to readers until rw_storage_publish().
 * @return the run's header, or NULL if the file system has no space (or the file size limit is near).
 */
RW_STORAGE_HIDDEN struct rw_chunk_header *rw_storage_take(uint32_t kind, uint32_t chunks, uint64_t sequence,
                                                          uint32_t *first_chunk);

/**
 * @brief Store the checksum of a run.
 * @param bytes  how many of it are checked, from behind the header
 * @param closed nothing of it changes any more
 */
RW_STORAGE_HIDDEN void rw_storage_seal(struct rw_chunk_header *run, uint64_t bytes, int closed);

/** @return whether a run was last refused because the node's file is gone, not for lack of space */
RW_STORAGE_HIDDEN int rw_storage_gone(void);

/** @brief Map a run that another rank has taken and made visible. @return NULL if there is none, or its file
 * is gone */
RW_STORAGE_HIDDEN struct rw_chunk_header *rw_storage_map(uint32_t first_chunk);

/** @return the head of the node's file, NULL where nothing is stored */
RW_STORAGE_HIDDEN struct rw_file_header *rw_storage_head(void);

/** @brief Make a prepared run visible to readers, with nothing behind its header checked yet. */
RW_STORAGE_HIDDEN void rw_storage_publish(struct rw_chunk_header *run);

/** @brief Unmap a run that is no longer written; its contents stay in the file. */
RW_STORAGE_HIDDEN void rw_storage_release(struct rw_chunk_header *run);

/**
 * @brief Create a file that is to come into the place of DIRECTORY/raw/HOST.NODE.RUN + suffix, if the node's
 * file is still beside it.
 * @return a file descriptor, or -1.
 */
RW_STORAGE_HIDDEN int rw_storage_part(const char *suffix);

/** @brief Put it there, whatever was there before; if it is not whole, remove it. */
RW_STORAGE_HIDDEN void rw_storage_put_in_place(const char *suffix, int whole);

/**
 * @brief Create DIRECTORY/raw/HOST.NODE.RUN + suffix, unless another rank of this node did.
 * @return a file descriptor, or -1.
 */
RW_STORAGE_HIDDEN int rw_storage_create(const char *suffix);

#endif
