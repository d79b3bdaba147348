/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread/current.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "process/process.h"
#include "process/schedstat.h"
#include "store/storage.h"
#include "thread/gaps.h"

/* Before the tick rate is known: between 2 and 100 ms on any machine. */
#define FIRST_INTERVAL_TICKS 10000000u
/* Of the relation of ticks to clocks: about 0.1 us each, every 10 ms. */
#define RELATE_ATTEMPTS 3

__thread struct rw_thread *rw_self RW_HIDDEN __attribute__((tls_model("initial-exec")));

/* A record that is not (yet) used on the fast path: MPI_Init has not returned. */
static __thread struct rw_thread *waiting __attribute__((tls_model("initial-exec")));

/* Every call seems nested in another one. */
static struct rw_thread passing = {.busy = UINTPTR_MAX};

static struct rw_thread *all_threads;
static uint32_t thread_count, threads_made;
static pthread_key_t ended_key;

struct rw_thread *rw_all_threads(void) {
    return __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE);
}

static void thread_ended(void *thread) {
    rw_self = NULL;
    waiting = NULL;
    __atomic_store_n(&((struct rw_thread *)thread)->available, 1, __ATOMIC_RELEASE);
}

static void forked_child(void) {
    rw_process.inert = 1;
    rw_self = NULL;
    waiting = NULL;
}

void rw_threads_prepare(void) {
    pthread_key_create(&ended_key, thread_ended);
    pthread_atfork(NULL, NULL, forked_child);
}

static struct rw_thread *take_over_ended(void) {
    for (struct rw_thread *thread = rw_all_threads(); thread; thread = thread->next) {
        int available = 1;
        if (__atomic_compare_exchange_n(&thread->available, &available, 0, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            thread->busy = 0;
            thread->gap_due = UINT64_MAX;
            /* It has another processor time, of which what is read from now on counts. */
            if (thread->stored && !thread->schedstat_missing &&
                rw_read_schedstat(&thread->schedstat_cpu_ns, &thread->schedstat_wait_ns) != 0)
                thread->schedstat_missing = 1;
            return thread;
        }
    }
    return NULL;
}

static struct rw_thread *make_thread(void) {
    struct rw_thread *thread =
        mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (thread == MAP_FAILED)
        return NULL;
    thread->rank = &thread->own_rank;
    thread->totals = thread->own_totals;
    thread->progress = &thread->own_progress;
    thread->next_sample = thread->gap_due = UINT64_MAX;
    thread->timed = rw_process.timed;
    thread->numbered = (uint64_t)__atomic_fetch_add(&threads_made, 1, __ATOMIC_RELAXED) << RW_NUMBER_BITS;
    thread->next = rw_all_threads();
    while (!__atomic_compare_exchange_n(&all_threads, &thread->next, thread, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
    return thread;
}

struct rw_thread *rw_current_slow(void) {
    if (rw_process.inert)
        return &passing;
    if (!waiting) {
        waiting = take_over_ended();
        if (!waiting)
            waiting = make_thread();
        if (!waiting)
            return &passing;
        pthread_setspecific(ended_key, waiting);
    }
    if (__atomic_load_n(&rw_process.ready, __ATOMIC_ACQUIRE) && !waiting->busy) {
        if (!waiting->stored)
            rw_thread_store(waiting);
        rw_self = waiting;
    }
    return waiting;
}

void rw_out_of_space(struct rw_thread *thread) {
    thread->full = 1;
    thread->rank->flags |= rw_storage_gone() ? RW_FILE_GONE : RW_STORAGE_FULL;
}

/* Whoever loses its core between two of these readings relates other moments: the closest ones are taken. */
void rw_relate_clocks(struct rw_rank *rank) {
    uint64_t closest = UINT64_MAX;
    for (int attempt = 0; attempt < RELATE_ATTEMPTS; attempt++) {
        const uint64_t begin = rw_ticks(), monotonic_ns = rw_clock_ns(CLOCK_MONOTONIC),
                       realtime_ns = rw_clock_ns(CLOCK_REALTIME), took = rw_ticks() - begin;
        if (took >= closest)
            continue;
        closest = took;
        rank->last_ticks = begin;
        rank->last_monotonic_ns = monotonic_ns;
        rank->last_realtime_ns = realtime_ns;
    }
}

/* The rank's record and totals, prepared in full before readers can see them. */
static void begin_record(struct rw_rank *rank) {
    uint32_t number = __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
    *rank = rw_process.rank;
    rank->thread = number;
    rw_relate_clocks(rank);
    rank->first_ticks = rank->last_ticks;
    rank->first_monotonic_ns = rank->last_monotonic_ns;
    rank->first_realtime_ns = rank->last_realtime_ns;
    rank->init_ticks = rw_process.init_ticks;
}

void rw_thread_begin_schedstat(struct rw_thread *thread) {
    if (rw_read_schedstat(&thread->schedstat_cpu_ns, &thread->schedstat_wait_ns) != 0)
        thread->schedstat_missing = 1;
    thread->shares_core = thread->timed && !thread->schedstat_missing;
    thread->rank->cpu_ns = thread->rank->runqueue_wait_ns = 0;
}

void rw_thread_store(struct rw_thread *thread) {
    size_t bytes = sizeof(struct rw_chunk_header) + sizeof(struct rw_rank) + sizeof thread->own_totals +
                   sizeof thread->own_progress;
    uint32_t chunks = (uint32_t)((bytes + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES);
    struct rw_chunk_header *run = rw_storage_take(RW_CHUNK_RANK, chunks, 0, &thread->rank_chunk);
    struct rw_rank *rank = run ? (struct rw_rank *)(run + 1) : &thread->own_rank;
    begin_record(rank);
    thread->rank = rank;
    thread->stored = 1;
    thread->last_end = rw_process.init_ticks;
    rw_thread_begin_schedstat(thread);
    thread->sample_interval = FIRST_INTERVAL_TICKS;
    thread->next_sample = thread->sample_due = rank->last_ticks + thread->sample_interval;
    if (!run) {
        rw_out_of_space(thread);
        return;
    }
    struct rw_call_total *totals = (struct rw_call_total *)(rank + 1);
    memcpy(totals, thread->own_totals, sizeof thread->own_totals);
    thread->totals = totals;
    thread->progress = (struct rw_progress *)(totals + RW_CALL_COUNT);
    thread->rank_run = run;
    run->rank_chunk = thread->rank_chunk;
    run->used = bytes - sizeof *run;
    thread->traced =
        rw_process.traced && rw_process.first_call <= 1 && (!rw_process.phase || thread->in_phase);
    if (rw_process.first_call)
        thread->windowed = 1;
    rw_await_gap(thread, rank->last_ticks);
    thread->next_sample = thread->windowed || rw_process.finished ? 0 : rw_next_await(thread);
    thread->sited = rw_process.sited;
    rw_storage_publish(run);
}

void rw_flag_all_threads(uint32_t flags) {
    for (struct rw_thread *thread = rw_all_threads(); thread; thread = thread->next)
        __atomic_fetch_or(&thread->rank->flags, flags, __ATOMIC_RELAXED);
}

void *rw_scratch(struct rw_thread *thread, uint64_t bytes) {
    if (thread->scratch_bytes >= bytes)
        return thread->scratch;
    uint64_t wanted = bytes + bytes / 2 + 65536;
    void *memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (thread->scratch)
        munmap(thread->scratch, thread->scratch_bytes);
    thread->scratch = memory;
    thread->scratch_bytes = wanted;
    return memory;
}
