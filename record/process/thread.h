/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the recorder keeps for each thread that calls MPI. Threads share no tables, so the hot path takes no
 * lock.
 */
#ifndef RANKWISE_RECORD_THREAD_H
#define RANKWISE_RECORD_THREAD_H

#include <stdint.h>

#include "../formats/recording.h"
#include "process/abi.h"
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
 * sends.
 */
#if defined(OPEN_MPI)
#define RW_RECENT_SENDS 0
#else
#define RW_RECENT_SENDS 32
#endif
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

    /* Trace: the end of the last event, and polls since then. */
    uint64_t last_end, poll_count, poll_gap, poll_ticks;
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

extern __thread struct rw_thread *rw_self RW_HIDDEN __attribute__((tls_model("initial-exec")));

/** @brief The thread's record when rw_self is not set: made now, or one that passes every call through. */
RW_HIDDEN struct rw_thread *rw_current_slow(void);

static inline struct rw_thread *rw_current(void) {
    struct rw_thread *thread = rw_self;
    return RW_LIKELY(thread != 0) ? thread : rw_current_slow();
}

/* Parameters beyond these are passed on the stack. */
#if defined(__x86_64__)
#define RW_REGISTER_PARAMETERS 6
#else
#define RW_REGISTER_PARAMETERS 8
#endif

/**
 * @brief Whether this call comes from inside another MPI call of the thread, which then stands for it.
 *
 * Stacks grow downwards, so a nested call's frame and its stack parameters lie below the outermost call's
 * frame. If they do not, that call was left by longjmp or an exception and never came back.
 */
static inline int rw_nested(const struct rw_thread *thread, uintptr_t frame, unsigned parameters) {
    const unsigned stacked = parameters > RW_REGISTER_PARAMETERS ? parameters - RW_REGISTER_PARAMETERS : 0;
    return thread->busy != 0 && frame + sizeof(uintptr_t) * stacked < thread->busy;
}

/** @brief A call begins after a gap that may be worth measuring. */
RW_HIDDEN void rw_measure_gap(struct rw_thread *thread, uint64_t begin);

/** @brief A call has ended: a gap that is to be measured may begin. */
RW_HIDDEN void rw_await_gap(struct rw_thread *thread, uint64_t end);

/** @return when rw_await_gap() is to be called next */
RW_HIDDEN uint64_t rw_next_await(const struct rw_thread *thread);

static inline uint64_t rw_enter(struct rw_thread *thread, uintptr_t frame) {
    thread->busy = frame;
    if (RW_UNLIKELY(!thread->timed))
        return 0;
    const uint64_t begin = rw_ticks();
    if (RW_UNLIKELY(begin >= thread->gap_due))
        rw_measure_gap(thread, begin);
    return begin;
}

/** @brief Say in the file which call the thread is in, should it never come back; and that it did. */
static inline void rw_note_progress(struct rw_thread *thread, unsigned call, uint64_t begin) {
    thread->progress->begin_ticks = begin;
    thread->progress->call = call + 1;
}

static inline void rw_clear_progress(struct rw_thread *thread) {
    thread->progress->call = 0;
}

/** @brief Read the scheduler's figures and relate ticks to the clocks; every 10 ms or so. */
RW_HIDDEN void rw_sample(struct rw_thread *thread, uint64_t now);

/** @brief The bins of a function that is called for the first time, or some that are not kept. */
RW_HIDDEN uint64_t *rw_first_call(struct rw_thread *thread, unsigned call);

/** @brief Count the call that is under way by the place it came from. */
RW_HIDDEN void rw_count_site(struct rw_thread *thread, unsigned call, uint64_t ticks);

static inline unsigned rw_tick_bin(uint64_t ticks) {
    unsigned bin = 63u - (unsigned)__builtin_clzll(ticks | 1);
    return RW_LIKELY(bin < RW_TICK_BINS) ? bin : RW_TICK_BINS - 1;
}

/* Calls between two samples where there is no time to go by. */
#define RW_UNTIMED_SAMPLE 0x10000u

/** @brief Count and time the call; @return its end, 0 where calls are not timed. */
static inline uint64_t rw_leave(struct rw_thread *thread, unsigned call, uint64_t begin) {
    struct rw_call_total *total = &thread->totals[call];
    if (RW_UNLIKELY(!thread->timed)) {
        if (RW_UNLIKELY(++total->count % RW_UNTIMED_SAMPLE == 0))
            rw_sample(thread, 0);
        if (RW_UNLIKELY(thread->sited))
            rw_count_site(thread, call, 0);
        return 0;
    }
    uint64_t end = rw_ticks(), ticks = end - begin;
    uint64_t *bins = thread->histograms[call];
    if (RW_UNLIKELY(!bins))
        bins = rw_first_call(thread, call);
    bins[rw_tick_bin(ticks)]++;
    total->count++;
    total->ticks += ticks;
    if (ticks > total->max_ticks)
        total->max_ticks = ticks;
    if (ticks < total->min_ticks)
        total->min_ticks = ticks;
    if (RW_UNLIKELY(thread->sited))
        rw_count_site(thread, call, ticks);
    return end;
}

static inline void rw_done(struct rw_thread *thread, uint64_t end) {
    if (RW_UNLIKELY(end >= thread->next_sample))
        rw_sample(thread, end);
    thread->busy = 0;
}

/** @brief At least `bytes` of memory for this call's copies, NULL if there is none. */
RW_HIDDEN void *rw_scratch(struct rw_thread *thread, uint64_t bytes);

/**
 * @brief Store the checksums of all that the thread has in the file; it is between two calls, or ended.
 * @param closed nothing of it changes any more, or rw_seal() is called again afterwards
 */
RW_HIDDEN void rw_seal(struct rw_thread *thread, int closed);

/** @brief rw_seal(), not closed, if the last time is a second ago. */
RW_HIDDEN void rw_seal_when_due(struct rw_thread *thread);

/** @brief Prepare for threads that end and processes that fork; once, before any call. */
RW_HIDDEN void rw_threads_prepare(void);

/** @brief Give `thread` its place in the node's file, as far as there is space. */
RW_HIDDEN void rw_thread_store(struct rw_thread *thread);

/** @brief Set rw_rank.flags of every thread of the process. */
RW_HIDDEN void rw_flag_all_threads(uint32_t flags);

/** @brief Refresh a record's last relation of ticks to clocks. */
RW_HIDDEN void rw_relate_clocks(struct rw_rank *rank);

/** @brief First of the list of all threads' records. */
RW_HIDDEN struct rw_thread *rw_all_threads(void);

/** @brief Mark that there is nowhere to store more of this thread: no space, or no file. */
RW_HIDDEN void rw_out_of_space(struct rw_thread *thread);

#endif
