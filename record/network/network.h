/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network time: what the shim's socket calls (shim/sockets.c), its transports (shim/transports.h) and the
 * recorder share. The shim stands before these functions in every process; the recorder says when to count,
 * and where.
 */
#ifndef RANKWISE_RECORD_NETWORK_H
#define RANKWISE_RECORD_NETWORK_H

#include <stdint.h>

#include "../formats/recording.h"

/* Entries of a table in a run of it. */
#define RW_NETWORK_A_RUN(entry)                                                                              \
    ((uint32_t)((RW_CHUNK_BYTES - sizeof(struct rw_chunk_header)) / sizeof(entry)))
/* More peers than that are counted as none in particular. */
#define RW_NETWORK_RUNS 64u

struct rw_network_table {
    uint32_t used; /* entries, the first ones are of no peer */
    uint32_t runs;
    struct rw_chunk_header *run[RW_NETWORK_RUNS];
};

struct rw_network {
    int on;   /* count from here; 0 until MPI_Init has returned, and in children of fork */
    int lock; /* of a new peer; who finds it taken counts for no peer, so signal handlers may come */
    int (*inside_mpi)(void);            /* whether the calling thread is inside an MPI call */
    void (*begun)(void);                /* the shim's, called when counting has begun */
    struct rw_network_table sockets;    /* of struct rw_network_peer */
    struct rw_network_table transports; /* of struct rw_transport_entry */
};

struct rw_thread;

/** @brief Remember where the shim counts; NULL where there is no shim before libc. */
__attribute__((visibility("hidden"))) void rw_network_prepare(struct rw_network *network);

/** @brief Begin to count, for the process whose first thread this is; without space nothing is counted. */
__attribute__((visibility("hidden"))) void rw_network_start(struct rw_thread *thread);

/** @brief Make room for more peers where it becomes tight; not on the path of any call. */
__attribute__((visibility("hidden"))) void rw_network_grow(struct rw_thread *thread);

/** @brief Checksums of what was counted, if this thread owns it. */
__attribute__((visibility("hidden"))) void rw_network_seal(struct rw_thread *thread, int closed);

/** @brief Stop, or go on where it had begun. */
__attribute__((visibility("hidden"))) void rw_network_switch(int on);

#endif
