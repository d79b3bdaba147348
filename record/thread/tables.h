/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages by peer and collectives by argument: open-addressing tables in the node's file. */
#ifndef RANKWISE_RECORD_TABLES_H
#define RANKWISE_RECORD_TABLES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "thread/thread.h"

/** @brief Number of the size bin (formats/recording.h, rw_peer_entry). */
static inline unsigned rw_size_bin(uint64_t bytes) {
    return bytes < 2 ? (unsigned)bytes : 65u - (unsigned)__builtin_clzll(bytes - 1);
}

/* The first eight bytes of an rw_peer_entry as one number; peer 0, call 0, bin 0 is no message. */
static inline uint64_t rw_peer_key(uint32_t peer, uint32_t call, uint64_t bytes) {
    return (uint64_t)rw_size_bin(bytes) << 48 | (uint64_t)call << 32 | peer;
}

/** @brief Take a run for a table of `slots` entries; it becomes visible when the caller publishes it. NULL:
 * no space. */
RW_HIDDEN struct rw_chunk_header *rw_take_table(struct rw_thread *thread, uint32_t kind, uint64_t slots,
                                                size_t entry_bytes, uint64_t sequence);

/** @brief Publish the table that holds all that is in the old one (or NULL), and give that up. */
RW_HIDDEN void rw_replace_table(struct rw_chunk_header *old, struct rw_chunk_header *new);

static inline uint64_t rw_mix(uint64_t key) {
    return key * 0x9e3779b97f4a7c15u;
}

/** @brief Enter a message for which there is no slot yet. */
RW_HIDDEN void rw_new_peer_entry(struct rw_thread *thread, uint64_t key, uint64_t bytes, uint64_t messages);

/**
 * @brief Count `messages` of `bytes` each to (or from) a world rank.
 * @param call index of the call, | RW_DIRECTION_RECEIVE for what was received.
 */
static inline void rw_count_messages(struct rw_thread *thread, uint32_t peer, uint32_t call, uint64_t bytes,
                                     uint64_t messages) {
    uint64_t key = rw_peer_key(peer, call, bytes);
    if (RW_LIKELY(thread->peers != 0)) {
        for (uint64_t slot = rw_mix(key) >> thread->peer_shift;; slot++) {
            struct rw_peer_entry *entry = &thread->peers[slot & thread->peer_mask];
            uint64_t found;
            memcpy(&found, entry, sizeof found);
            if (RW_LIKELY(found == key)) {
                entry->count += messages;
                entry->bytes += bytes * messages;
                return;
            }
            if (entry->count == 0)
                break;
        }
    }
    rw_new_peer_entry(thread, key, bytes, messages);
}

/** @brief Take back a message that this thread entered. */
RW_HIDDEN void rw_uncount_message(struct rw_thread *thread, uint32_t peer, uint32_t call, uint64_t bytes);

/*
 * The fields up to `count` are the key, as four words. They are put together from the fields, not copied:
 * loading a word over narrower stores that are still under way costs more than all the rest. RW_LOADED keeps
 * compilers from making one load of them again.
 */
#define RW_LOADED(value) __asm__("" : "+r"(value))
#define RW_COLLECTIVE_KEY_BYTES offsetof(struct rw_collective_entry, count)
_Static_assert(RW_COLLECTIVE_KEY_BYTES == 4 * sizeof(uint64_t), "the key of a collective is four words");

struct rw_collective_key {
    uint64_t words[4];
};

static inline struct rw_collective_key rw_collective_key(const struct rw_collective_entry *entry) {
    uint32_t call = entry->call, flags = entry->flags, comm = entry->comm, root = (uint32_t)entry->root;
    uint32_t datatype_bytes = entry->datatype_bytes;
    RW_LOADED(call);
    RW_LOADED(flags);
    RW_LOADED(comm);
    RW_LOADED(root);
    RW_LOADED(datatype_bytes);
    return (struct rw_collective_key){{
        (uint64_t)comm << 32 | (uint64_t)flags << 16 | call,
        (uint64_t)datatype_bytes << 32 | root,
        entry->bytes,
        entry->bytes2,
    }};
}

static inline int rw_collective_matches(const struct rw_collective_entry *entry,
                                        const struct rw_collective_key *key) {
    uint64_t found[4];
    memcpy(found, entry, sizeof found);
    return found[0] == key->words[0] && found[1] == key->words[1] && found[2] == key->words[2] &&
           found[3] == key->words[3];
}

/** @brief Count a collective that is not the last one again. */
RW_HIDDEN void rw_count_other_collective(struct rw_thread *thread, const struct rw_collective_entry *call,
                                         uint64_t ticks);

/** @brief Count one collective call with these arguments; `count` and `ticks` of `call` are ignored. */
static inline void rw_count_collective(struct rw_thread *thread, const struct rw_collective_entry *call,
                                       uint64_t ticks) {
    const struct rw_collective_key key = rw_collective_key(call);
    struct rw_collective_entry *last = thread->last_collective;
    if (RW_LIKELY(last != 0 && last->count && rw_collective_matches(last, &key))) {
        last->ticks += ticks;
        last->count++;
        return;
    }
    rw_count_other_collective(thread, call, ticks);
}

#endif
