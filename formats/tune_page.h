/* SPDX-License-Identifier: BSD-3-Clause */
// clang-format off: a table, laid out by hand
/*
 * The page in which a rank says how it gets on while it runs: DIR/RANK.PID.page, mapped shared, written by the rank alone
 * (librankwise_tune.so) and read by the tuner of its node.
 *
 * DIR is RANKWISE_TUNE, on a file system in the node's memory. The rank writes `magic` last when the page is prepared, and
 * `ended` when it comes to MPI_Finalize. All fields are naturally aligned and written with relaxed atomic stores of their whole
 * width: a reader may see one counter ahead of another by a call, and nothing worse. Counters only grow; `iterations` may start
 * anew where `anchor` changes, for then another thing is counted.
 *
 * Calls and messages are those of all threads; times, waits and iterations those of the thread that started MPI. Spawned processes
 * have no page. A child of fork has none either.
 *
 * Ticks are those of record/process/ticks.h. `ticks_per_s` is measured by the rank when the page is prepared.
 */
#ifndef RANKWISE_FORMATS_TUNE_PAGE_H
#define RANKWISE_FORMATS_TUNE_PAGE_H

#include <stdint.h>

#define RW_TUNE_MAGIC 0x3147504557525752ull /* "RWRWEPG1" */
#define RW_TUNE_VERSION 1u
#define RW_TUNE_PEERS 48u

enum rw_tune_known_by {
    RW_TUNE_NOT_KNOWN = 0,     /* no iteration known yet */
    RW_TUNE_BY_PATTERN = 1,   /* the sequence of calls repeats */
    RW_TUNE_BY_PCONTROL = 2   /* MPI_Pcontrol(level > 0), once an iteration; wins over the pattern */
};

/* What was sent to one world rank. Written by the sender; an entry is taken once and never given to another rank. */
struct rw_tune_peer {
    int32_t rank;      /* world rank + 1; 0: free */
    uint32_t reserved;
    uint64_t messages;
    uint64_t bytes;
};

struct rw_tune_page {
    uint64_t magic;
    uint32_t version;
    uint32_t page_bytes;   /* sizeof(struct rw_tune_page) of the writer */
    int32_t pid;
    int32_t rank;          /* world rank */
    int32_t ranks;         /* of MPI_COMM_WORLD */
    uint32_t ended;        /* 1 since MPI_Finalize began */
    uint64_t process_start; /* field 22 of /proc/PID/stat: tells a process from a later one of its number */
    double ticks_per_s;

    uint64_t calls;        /* MPI calls that have ended, without those that only ask (MPI_Test, MPI_Iprobe, MPI_Wtime, ...) */
    uint64_t mpi_ticks;    /* time inside them. Short calls are timed now and then and count for those between */
    uint64_t wait_ticks;   /* of this, in calls that wait for others (RW_WAITS of formats/mpi_calls.txt) */
    uint64_t entered;      /* ticks at which the waiting call under way began, 0 outside: long waits are seen before they
                              end, at places that have waited before (record/tune/progress.h) */

    uint64_t iterations;      /* that have ended; those below some 20 us are written in batches of up to 16 */
    uint64_t iteration_ticks; /* when the last one written ended */
    uint32_t known_by;         /* enum rw_tune_known_by */
    uint32_t peers;           /* entries taken of `peer` */
    uint64_t anchor;          /* how often what tells iterations has changed: counts before and after are of different things */

    uint64_t messages, bytes; /* sent, to any rank, point-to-point */
    struct rw_tune_peer peer[RW_TUNE_PEERS]; /* peers that found no entry are in `messages` and `bytes` only */
};

#endif
