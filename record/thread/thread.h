/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the recorder keeps for each thread that calls MPI. Threads share no tables, so the hot path takes no
 * lock.
 */
#ifndef RANKWISE_RECORD_THREAD_H
#define RANKWISE_RECORD_THREAD_H

#include <stdint.h>

#include "../formats/recording.h"
#include "process/next.h"
#include "process/ticks.h"

struct rw_communicator;
struct rw_trace_model;

/* Reading schedstat takes about 4 us; every 10 ms that is 0.04 % of the time. */
#define RW_SAMPLE_INTERVAL_NS 10000000u

/* Direct-mapped cache of what the library says about datatypes. */
#define RW_DATATYPE_SLOTS 64
struct rw_datatype_slot {
    uintptr_t handle;
    uint32_t generation; /* of rw_datatype_generation when it was asked; 0 = empty */
    uint32_t derived;
    uint64_t bytes;
};

/*
 * The last nonblocking sends, by handle, for those that are cancelled and taken back. Open MPI cancels no
 * sends: it needs none, but what knows no MPI needs the same for all.
 */
#define RW_RECENT_SENDS 32
struct rw_recent_send {
    uintptr_t handle;
    uint64_t bytes;
    uint32_t peer; /* world rank */
    uint32_t call; /* 0: none, or to MPI_PROC_NULL */
};

/* Collectives of the arguments they had last, by function: direct-mapped (recent_collectives.h). */
#define RW_RECENT_COLLECTIVES 8
struct rw_recent_collective {
    struct rw_collective_entry *entry; /* NULL: none */
    uint64_t comm_generation;
    uintptr_t comm, datatype, op;
    int64_t count;
    int root, in_place;
    uint32_t call, datatype_generation;
    uint64_t bytes; /* that it adds to the function's total */
};

/* Where calls came from last: direct-mapped, in front of the table. */
#define RW_RECENT_SITES 64
struct rw_recent_site {
    uintptr_t address;
    unsigned call;
    struct rw_site_entry *entry;
};

#define RW_NUMBER_BITS 40u

/* Runs that the histograms of all functions fill. */
#define RW_HISTOGRAMS_A_RUN                                                                                  \
    ((RW_CHUNK_BYTES - sizeof(struct rw_chunk_header)) / sizeof(struct rw_call_histogram))
#define RW_HISTOGRAM_RUNS ((RW_CALL_COUNT + RW_HISTOGRAMS_A_RUN - 1) / RW_HISTOGRAMS_A_RUN)

struct rw_thread {
    uintptr_t busy; /* frame of the outermost MPI call this thread is in, 0 outside */
    struct rw_rank *rank;
    struct rw_call_total *totals;
    struct rw_progress *progress;
    uint64_t next_sample; /* ticks */
    uint64_t gap_due;     /* a gap that lasts until then is measured (gaps.c); UINT64_MAX: none */
    int timed;
    int traced;
    int sited; /* places of calls are kept */

    struct rw_peer_entry *peers; /* NULL until the first message, or without space */
    uint64_t peer_mask;
    unsigned peer_shift;

    uintptr_t comm_handle; /* the communicator used last */
    uint64_t comm_generation;
    struct rw_communicator *comm;

    uint64_t added_before; /* rw_shared_added when the call began */
    uint64_t numbered;     /* requests in the trace: how many, RW_NUMBER_BITS of it; above these whose */
    uint64_t draft[8];     /* requests.c */

    /* Trace: the end of the last event, and polls since then: the first one, and sums of those after it. */
    uint64_t last_end, poll_count, first_poll_gap, first_poll_ticks, poll_gap, poll_ticks;
    uint64_t measured_at, measured_ns; /* processor time of the gap that ended there; 0: none */
    unsigned char *trace_at, *trace_limit;
    struct rw_chunk_header *trace_run;
    uint64_t trace_runs;
    unsigned char *trace_lost; /* where the number of lost events goes, once there are some */
    uint64_t events_lost;
    struct rw_trace_model *model; /* of the coder */
    unsigned char *shape_buffer;  /* the event that is being written */
    uint64_t shape_bytes, event_gap, event_duration;
    unsigned event_kind;

    struct rw_chunk_header *site_run;
    struct rw_site_entry *sites;
    uint64_t site_mask, site_entries, site_tables;
    struct rw_recent_site recent_sites[RW_RECENT_SITES];
    struct rw_site_entry *last_site; /* of the call before, whose bytes are not entered yet; NULL: none */
    uint64_t bytes_before_last;      /* of its function, when it had just returned */
    struct rw_chunk_header *module_run;
    uint32_t modules_logged;
    struct rw_chunk_header *histogram_runs[RW_HISTOGRAM_RUNS];

    struct rw_chunk_header *peer_run;
    uint64_t peer_entries, peer_tables;
    struct rw_chunk_header *collective_run;
    struct rw_collective_entry *collectives, *last_collective;
    uint64_t collective_mask, collective_entries, collective_tables;
    int collectives_binned;
    struct rw_recent_collective recent_collectives[RW_RECENT_COLLECTIVES];
    int full; /* the file system had no space: nothing new is stored */

    int windowed; /* only a range of calls is traced: every call ends in rw_sample() then */
    uint64_t calls_seen;
    int in_phase; /* the one that is traced */

    uint64_t sample_interval, sample_due; /* ticks */
    int shares_core;                      /* as far as is known: its gaps are measured where it is traced */
    uint64_t cpu_read_at, cpu_read_ns;    /* ticks, and the thread's processor time then */
    uint64_t schedstat_cpu_ns, schedstat_wait_ns; /* as last read */
    int schedstat_missing;

    struct rw_chunk_header *rank_run; /* NULL: rank and totals are not in the file */
    uint64_t seal_due;                /* ticks */
    int stored;                       /* rank and totals are in the file, if there was space */
    int available;                    /* its thread has ended; the next new thread takes it over */
    uint32_t rank_chunk;
    struct rw_thread *next;

    struct rw_datatype_slot datatypes[RW_DATATYPE_SLOTS];
    struct rw_recent_send recent_sends[RW_RECENT_SENDS];
    /* Copies for calls on many requests, grown on demand. */
    void *scratch;
    uint64_t scratch_bytes;
    uint64_t *histograms[RW_CALL_COUNT]; /* bins, NULL until the first call */
    /* Until MPI_Init has returned, and where nothing can be stored. */
    struct rw_rank own_rank;
    struct rw_call_total own_totals[RW_CALL_COUNT];
    struct rw_progress own_progress;
};

#endif
