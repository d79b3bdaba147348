/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/trace.h"
#include "thread/current.h"

#include <sys/mman.h>

#include "process/process.h"
#include "store/storage.h"
#include "trace/changes.h"
#include "trace/trace_model.h"

/* 256 KiB first, so that short programs leave little, then 1 MiB: allocating one takes well under a
 * millisecond. */
#define FIRST_CHUNKS 4u
#define NEXT_CHUNKS 16u
/* Kept free at a run's end for the last words: polls, then RW_EVENT_LOST with a count of fixed width. */
#define RESERVED_BYTES 160u
/* An event beside its shape: token, number, two times. */
#define BESIDE_BYTES 48u
#define FIRST_SHAPE_BYTES 4096u
/* Between two samples of a thread that hardly waits for a core or calls rarely. */
#define UNDISTURBED_NS 100000000u
/* Events for which a sample is not worth its bytes before that. */
#define FEW_EVENTS 32u

static void *map_memory(uint64_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- runs ---- */

void rw_trace_into(struct rw_thread *thread, struct rw_chunk_header *run, uint64_t bytes) {
    thread->trace_run = run;
    thread->trace_at = (unsigned char *)(run + 1);
    thread->trace_limit = (unsigned char *)run + bytes - RESERVED_BYTES;
    if (thread->model)
        thread->model->repeats = NULL; /* a count is never continued in another run */
}

void rw_trace_release(struct rw_thread *thread) {
    if (thread->model)
        munmap(thread->model, sizeof *thread->model);
    if (thread->shape_buffer)
        munmap(thread->shape_buffer, thread->shape_bytes);
}

static int next_run(struct rw_thread *thread, uint64_t bytes) {
    const uint64_t begin = rw_ticks();
    uint32_t chunks = thread->trace_runs ? NEXT_CHUNKS : FIRST_CHUNKS;
    uint64_t needed = sizeof(struct rw_chunk_header) + RESERVED_BYTES + bytes;
    if (needed > (uint64_t)chunks * RW_CHUNK_BYTES)
        chunks = (uint32_t)((needed + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES);
    struct rw_chunk_header *run = thread->full || !thread->stored
                                      ? NULL
                                      : rw_storage_take(RW_CHUNK_TRACE, chunks, thread->trace_runs, NULL);
    if (!run) {
        rw_out_of_space(thread);
        return -1;
    }
    run->rank_chunk = thread->rank_chunk;
    rw_storage_publish(run);
    if (thread->trace_run) {
        rw_trace_seal(thread, 1);
        rw_storage_release(thread->trace_run);
    }
    rw_trace_into(thread, run, (uint64_t)chunks * RW_CHUNK_BYTES);
    thread->trace_runs++;
    thread->rank->recorder_ticks += rw_ticks() - begin;
    return 0;
}

static inline void written(struct rw_thread *thread, unsigned char *at) {
    thread->trace_at = at;
    __atomic_store_n(&thread->trace_run->used, (uint64_t)(at - (unsigned char *)(thread->trace_run + 1)),
                     __ATOMIC_RELEASE);
}

/* A count of what is expected is not continued behind a seal, and one of lost events changes where it stands.
 */
void rw_trace_seal(struct rw_thread *thread, int closed) {
    const unsigned char *const begin = (unsigned char *)(thread->trace_run + 1);
    if (thread->model)
        thread->model->repeats = NULL;
    const uint64_t final =
        thread->trace_lost && !closed ? (uint64_t)(thread->trace_lost - begin) : thread->trace_run->used;
    rw_storage_seal(thread->trace_run, final, closed);
}

static int has_room(const struct rw_thread *thread, uint64_t bytes) {
    return (uint64_t)(thread->trace_limit - thread->trace_at) >= bytes;
}

/* ---- events that are not remembered ---- */

static unsigned char *put_poll(unsigned char *at, uint64_t count, uint64_t gap, uint64_t ticks) {
    *at++ = RW_TOKEN_SINGLE;
    at = rw_put_u(at, RW_EVENT_POLL);
    at = rw_put_u(at, count);
    return rw_put_u(rw_put_u(at, gap), ticks);
}

/* The first one is an event of its own: what was computed before is the gap of that one alone. */
static unsigned char *put_polls(struct rw_thread *thread, unsigned char *at) {
    at = put_poll(at, 1, thread->first_poll_gap, thread->first_poll_ticks);
    if (thread->poll_count > 1)
        at = put_poll(at, thread->poll_count - 1, thread->poll_gap, thread->poll_ticks);
    thread->poll_count = thread->poll_gap = thread->poll_ticks = 0;
    if (thread->model)
        thread->model->repeats = NULL;
    return at;
}

/* From here on events are only counted; the number has a fixed width so that it can be updated where it
 * stands. */
static void count_lost(struct rw_thread *thread) {
    thread->events_lost++;
    if (!thread->trace_run)
        return;
    if (!thread->trace_lost) {
        unsigned char *at = thread->trace_at;
        if (thread->poll_count)
            at = put_polls(thread, at);
        *at++ = RW_TOKEN_SINGLE;
        at = rw_put_u(at, RW_EVENT_LOST);
        thread->trace_lost = at;
        at += RW_TRACE_NUMBER_BYTES;
        thread->trace_lost[RW_TRACE_NUMBER_BYTES - 1] = 0;
        for (unsigned i = 0; i < RW_TRACE_NUMBER_BYTES - 1; i++)
            thread->trace_lost[i] = 0x80;
        at = rw_put_u(rw_put_u(at, 0), 0);
        written(thread, at);
        thread->trace_limit = at; /* no event fits any more */
    }
    for (unsigned i = 0; i < RW_TRACE_NUMBER_BYTES - 1; i++)
        thread->trace_lost[i] = (unsigned char)((thread->events_lost >> 7 * i & 0x7f) | 0x80);
}

static int open_model(struct rw_thread *thread) {
    if (!thread->model)
        thread->model = map_memory(sizeof *thread->model);
    return thread->model != NULL;
}

static int flush_polls(struct rw_thread *thread) {
    const uint64_t bytes = 10 * RW_TRACE_NUMBER_BYTES;
    if (!thread->poll_count)
        return 0;
    if (!has_room(thread, bytes) && next_run(thread, bytes) != 0)
        return -1;
    written(thread, put_polls(thread, thread->trace_at));
    return 0;
}

/* Of the gap before the event that follows; after polls or a call that failed it is another gap's. */
static int put_gap_cpu(struct rw_thread *thread, uint64_t begin) {
    const int wanted = thread->measured_at && thread->measured_at == begin;
    thread->measured_at = 0;
    if (!wanted)
        return 0;
    if (!has_room(thread, BESIDE_BYTES) && next_run(thread, BESIDE_BYTES) != 0)
        return -1;
    unsigned char *at = thread->trace_at;
    *at++ = RW_TOKEN_GAP_CPU;
    at = rw_put_u(at, (thread->measured_ns + (1u << RW_SCHED_UNIT_SHIFT) / 2) >> RW_SCHED_UNIT_SHIFT);
    thread->model->repeats = NULL;
    written(thread, at);
    return 0;
}

unsigned char *rw_trace_prepare(struct rw_thread *thread, uint64_t bytes, uint64_t begin) {
    if (thread->shape_bytes < bytes) {
        const uint64_t wanted = bytes < FIRST_SHAPE_BYTES ? FIRST_SHAPE_BYTES : bytes + bytes / 2;
        unsigned char *buffer = map_memory(wanted);
        if (buffer && thread->shape_buffer)
            munmap(thread->shape_buffer, thread->shape_bytes);
        if (buffer) {
            thread->shape_buffer = buffer;
            thread->shape_bytes = wanted;
        }
    }
    if (thread->trace_lost || !open_model(thread) || thread->shape_bytes < bytes ||
        flush_polls(thread) != 0 || put_gap_cpu(thread, begin) != 0) {
        count_lost(thread);
        return NULL;
    }
    return thread->shape_buffer;
}

static void single(struct rw_thread *thread, const unsigned char *shape, uint64_t length) {
    unsigned char *at = thread->trace_at;
    *at++ = RW_TOKEN_SINGLE;
    memcpy(at, shape, length);
    at = rw_put_u(at + length, thread->event_gap);
    at = rw_put_u(at, thread->event_duration);
    thread->model->repeats = NULL;
    written(thread, at);
}

/* In whole units; what is left comes with the next ones. */
static unsigned char *put_scheduler_ns(unsigned char *at, uint64_t *left) {
    at = rw_put_u(at, *left >> RW_SCHED_COARSE_SHIFT);
    *left &= (1u << RW_SCHED_COARSE_SHIFT) - 1;
    return at;
}

static void put_samples(struct rw_thread *thread) {
    if (!rw_trace_prepare(thread, 0, 0))
        return;
    if (!has_room(thread, BESIDE_BYTES) && next_run(thread, BESIDE_BYTES) != 0) {
        count_lost(thread);
        return;
    }
    struct rw_trace_model *const model = thread->model;
    unsigned char *at = thread->trace_at;
    *at++ = RW_TOKEN_SCHED;
    at = put_scheduler_ns(at, &model->wait_left_ns);
    at = put_scheduler_ns(at, &model->cpu_left_ns);
    model->repeats = NULL;
    model->events_since_sample = 0;
    written(thread, at);
}

/* A thread that hardly waits for a core, or calls rarely, has the same to say for ten samples. */
static int says_little(const struct rw_trace_model *model) {
    return (model->wait_left_ns <= model->cpu_left_ns / 64 || model->events_since_sample < FEW_EVENTS) &&
           model->wait_left_ns + model->cpu_left_ns < UNDISTURBED_NS;
}

void rw_trace_sched(struct rw_thread *thread, uint64_t wait_ns, uint64_t cpu_ns) {
    if (!open_model(thread))
        return;
    thread->model->wait_left_ns += wait_ns;
    thread->model->cpu_left_ns += cpu_ns;
    if (!says_little(thread->model))
        put_samples(thread);
}

void rw_trace_flush(struct rw_thread *thread) {
    if (thread->model && thread->model->cpu_left_ns >> RW_SCHED_COARSE_SHIFT)
        put_samples(thread);
    if (thread->poll_count && !thread->trace_lost && (!open_model(thread) || flush_polls(thread) != 0))
        count_lost(thread);
}

/* ---- shapes ---- */

/* Byte by byte: the shape's bytes were stored a moment ago, and loading a word over them would wait for all.
 */
static inline int same(const unsigned char *a, const unsigned char *b, uint64_t length) {
    if (RW_UNLIKELY(length > 64))
        return memcmp(a, b, length) == 0;
    for (uint64_t i = 0; i < length; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

static uint16_t *head_of(struct rw_trace_model *model, const unsigned char *shape, uint64_t length) {
    uint64_t hash = length;
    for (uint64_t i = 0; i < length; i++)
        hash = (hash ^ shape[i]) * 0x100000001b3u;
    return &model->heads[(hash ^ hash >> 32) % RW_MODEL_HEADS];
}

/* Number of a shape that is known, or -1. */
static int look_up(const struct rw_trace_model *model, uint16_t head, const unsigned char *shape,
                   uint64_t length) {
    for (unsigned at = head; at; at = model->next[at - 1])
        if (model->length[at - 1] == length && same(model->arena + model->offset[at - 1], shape, length))
            return (int)at - 1;
    return -1;
}

/* Write the token of a shape where number - 1 (none if 0) was expected; its own number goes to `number`. */
static unsigned char *put_unexpected(struct rw_trace_model *model, unsigned char *at,
                                     const unsigned char *shape, uint64_t length, unsigned *number) {
    uint16_t *head = head_of(model, shape, length);
    const int known = look_up(model, *head, shape, length);
    model->repeats = NULL;
    if (known >= 0) {
        *number = (unsigned)known;
        *at++ = RW_TOKEN_KNOWN;
        return rw_put_u(at, *number);
    }
    if (model->shapes == RW_MODEL_SHAPES || RW_MODEL_ARENA_BYTES - model->arena_used < length) {
        rw_model_forget(model);
        *at++ = RW_TOKEN_FORGET;
        *number = 0;
    }
    struct rw_changed found;
    const struct rw_changed *const changed = rw_trace_changed(model, &found, *number, shape, length);
    *number = model->shapes++;
    model->offset[*number] = model->arena_used;
    model->length[*number] = (uint32_t)length;
    model->codes[*number] = changed ? model->codes[changed->from - 1] : model->last;
    model->next[*number] = *head;
    *head = (uint16_t)(*number + 1);
    memcpy(model->arena + model->arena_used, shape, length);
    model->arena_used += (uint32_t)length;
    if (changed) {
        memcpy(at, changed->bytes, changed->length);
        return at + changed->length;
    }
    *at++ = RW_TOKEN_NEW;
    memcpy(at, shape, length);
    return at + length;
}

/* ---- times ---- */

static inline unsigned nibble_of(uint32_t code, uint32_t expected) {
    const uint32_t above = code + RW_CODE_REACH - expected;
    return RW_LIKELY(above <= 2 * RW_CODE_REACH) ? above : RW_NIBBLE_BYTE;
}

static inline unsigned char *put_code(unsigned char *at, unsigned nibble, uint32_t code) {
    if (RW_UNLIKELY(nibble == RW_NIBBLE_BYTE))
        *at++ = (unsigned char)code;
    return at;
}

static inline unsigned char *put_times(struct rw_thread *thread, struct rw_trace_model *model,
                                       unsigned char *at, struct rw_codes expected, struct rw_codes *codes) {
    if (RW_UNLIKELY(rw_process.exact)) {
        *codes = (struct rw_codes){0, 0};
        return rw_put_u(rw_put_u(at, thread->event_gap), thread->event_duration);
    }
    const uint32_t gap = rw_quantise(model->carried[0], thread->event_gap, RW_UNIT_SHIFT);
    const uint32_t duration = rw_quantise(model->carried[1], thread->event_duration, RW_UNIT_SHIFT);
    const unsigned upper = nibble_of(gap, expected.gap), lower = nibble_of(duration, expected.duration);
    *at++ = (unsigned char)(upper << 4 | lower);
    *codes = (struct rw_codes){(uint8_t)gap, (uint8_t)duration};
    return put_code(put_code(at, upper, gap), lower, duration);
}

void rw_trace_end(struct rw_thread *thread, unsigned char *end) {
    const unsigned char *const shape = thread->shape_buffer;
    const uint64_t length = (uint64_t)(end - shape);
    struct rw_trace_model *const model = thread->model;
    if (RW_UNLIKELY(!has_room(thread, length + BESIDE_BYTES)) &&
        next_run(thread, length + BESIDE_BYTES) != 0) {
        count_lost(thread);
        return;
    }
    if (RW_UNLIKELY(length > RW_MODEL_SHAPE_BYTES)) {
        single(thread, shape, length);
        return;
    }
    uint64_t hash = rw_model_hash(model->history);
    struct rw_follower *follower = &model->followers[hash >> (64 - RW_MODEL_FOLLOWER_BITS)];
    const uint16_t check = (uint16_t)(hash >> 8);
    const int seen = follower->shape && follower->check == check;
    unsigned number = seen ? follower->shape : model->after[model->history & 0xffff];
    unsigned char *at = thread->trace_at;
    struct rw_codes expected;
    if (RW_LIKELY(number && model->length[number - 1] == length &&
                  same(model->arena + model->offset[number - 1], shape, length))) {
        number--;
        expected = seen ? follower->codes : model->codes[number];
        if (RW_LIKELY(model->repeats && *model->repeats < RW_TOKEN_MOST_REPEATS)) {
            ++*model->repeats;
        } else {
            model->repeats = at;
            *at++ = 1;
        }
    } else {
        at = put_unexpected(model, at, shape, length, &number);
        expected = model->codes[number];
        /* Everything may have been forgotten. */
        hash = rw_model_hash(model->history);
        follower = &model->followers[hash >> (64 - RW_MODEL_FOLLOWER_BITS)];
    }
    model->events_since_sample++;
    struct rw_codes codes;
    at = put_times(thread, model, at, expected, &codes);
    *follower = (struct rw_follower){(uint16_t)(number + 1), (uint16_t)(hash >> 8), codes};
    model->after[model->history & 0xffff] = (uint16_t)(number + 1);
    model->of_kind[thread->event_kind] = (uint16_t)(number + 1);
    model->codes[number] = model->last = codes;
    model->history = model->history << 16 | (number + 1);
    written(thread, at);
}
