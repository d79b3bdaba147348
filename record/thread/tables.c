/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread/tables.h"
#include "thread/current.h"

#include <stddef.h>

#include "store/storage.h"

/* Fits one chunk: 2048 x 24 and 1024 x 48 bytes. */
#define FIRST_PEER_SLOTS 2048u
#define FIRST_COLLECTIVE_SLOTS 1024u
/* Programs whose collectives never repeat a size (adaptive v-variants) fall back to size bins from here on.
 */
#define MOST_COLLECTIVE_SLOTS 65536u

struct rw_chunk_header *rw_take_table(struct rw_thread *thread, uint32_t kind, uint64_t slots,
                                      size_t entry_bytes, uint64_t sequence) {
    uint64_t bytes = sizeof(struct rw_chunk_header) + slots * entry_bytes;
    uint32_t chunks = (uint32_t)((bytes + RW_CHUNK_BYTES - 1) / RW_CHUNK_BYTES);
    struct rw_chunk_header *run =
        thread->full || !thread->stored ? NULL : rw_storage_take(kind, chunks, sequence, NULL);
    if (!run) {
        rw_out_of_space(thread);
        return NULL;
    }
    run->rank_chunk = thread->rank_chunk;
    run->used = slots;
    return run;
}

/* Readers take the table of the highest sequence, so a process killed between these lines counts nothing
 * twice. */
void rw_replace_table(struct rw_chunk_header *old, struct rw_chunk_header *new) {
    rw_storage_publish(new);
    if (old) {
        old->kind = RW_CHUNK_DEAD;
        rw_storage_seal(old, 0, 1);
        rw_storage_release(old);
    }
}

static struct rw_peer_entry *free_peer_slot(struct rw_peer_entry *peers, uint64_t mask, unsigned shift,
                                            uint64_t key) {
    uint64_t slot = rw_mix(key) >> shift;
    while (peers[slot & mask].count != 0)
        slot++;
    return &peers[slot & mask];
}

static int grow_peers(struct rw_thread *thread) {
    uint64_t slots = thread->peers ? 2 * (thread->peer_mask + 1) : FIRST_PEER_SLOTS;
    struct rw_chunk_header *run =
        rw_take_table(thread, RW_CHUNK_PEERS, slots, sizeof(struct rw_peer_entry), thread->peer_tables);
    if (!run)
        return -1;
    struct rw_peer_entry *peers = (struct rw_peer_entry *)(run + 1);
    unsigned shift = (unsigned)__builtin_clzll(slots) + 1;
    for (uint64_t i = 0; thread->peers && i <= thread->peer_mask; i++) {
        uint64_t key;
        memcpy(&key, &thread->peers[i], sizeof key);
        if (thread->peers[i].count)
            *free_peer_slot(peers, slots - 1, shift, key) = thread->peers[i];
    }
    rw_replace_table(thread->peer_run, run);
    thread->peer_run = run;
    thread->peers = peers;
    thread->peer_mask = slots - 1;
    thread->peer_shift = shift;
    thread->peer_tables++;
    return 0;
}

void rw_new_peer_entry(struct rw_thread *thread, uint64_t key, uint64_t bytes, uint64_t messages) {
    int crowded = !thread->peers || 4 * thread->peer_entries >= 3 * (thread->peer_mask + 1);
    if (crowded && grow_peers(thread) != 0) {
        thread->rank->unrecorded_messages += messages;
        return;
    }
    struct rw_peer_entry *entry = free_peer_slot(thread->peers, thread->peer_mask, thread->peer_shift, key);
    memcpy(entry, &key, sizeof key);
    entry->bytes = bytes * messages;
    __atomic_store_n(&entry->count, messages, __ATOMIC_RELEASE);
    thread->peer_entries++;
}

/*
 * An entry without messages is a free slot, behind which others may stand that had to give way to it: these
 * are then entered a second time. Readers add up entries of the same key.
 */
void rw_uncount_message(struct rw_thread *thread, uint32_t peer, uint32_t call, uint64_t bytes) {
    const uint64_t key = rw_peer_key(peer, call, bytes);
    for (uint64_t slot = rw_mix(key) >> thread->peer_shift; thread->peers; slot++) {
        struct rw_peer_entry *entry = &thread->peers[slot & thread->peer_mask];
        uint64_t found;
        memcpy(&found, entry, sizeof found);
        if (entry->count == 0)
            return;
        if (found == key) {
            thread->totals[call].bytes -= bytes;
            entry->bytes -= bytes;
            entry->count--;
            return;
        }
    }
}

static uint64_t hash_of_key(const struct rw_collective_key *key) {
    uint64_t hash = key->words[0] * 0x9e3779b97f4a7c15u ^ key->words[1] * 0xc2b2ae3d27d4eb4fu ^
                    key->words[2] * 0x165667b19e3779f9u ^ key->words[3] * 0x27d4eb2f165667c5u;
    return (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u >> 32;
}

/* The slot that holds this key, or the free one where it belongs. */
static struct rw_collective_entry *find_collective(struct rw_collective_entry *table, uint64_t mask,
                                                   const struct rw_collective_entry *wanted) {
    const struct rw_collective_key key = rw_collective_key(wanted);
    for (uint64_t slot = hash_of_key(&key);; slot++) {
        struct rw_collective_entry *entry = &table[slot & mask];
        if (entry->count == 0 || rw_collective_matches(entry, &key))
            return entry;
    }
}

static int grow_collectives(struct rw_thread *thread) {
    uint64_t slots = thread->collectives ? 2 * (thread->collective_mask + 1) : FIRST_COLLECTIVE_SLOTS;
    struct rw_chunk_header *run = rw_take_table(
        thread, RW_CHUNK_COLLECTIVES, slots, sizeof(struct rw_collective_entry), thread->collective_tables);
    if (!run)
        return -1;
    struct rw_collective_entry *table = (struct rw_collective_entry *)(run + 1);
    for (uint64_t i = 0; thread->collectives && i <= thread->collective_mask; i++)
        if (thread->collectives[i].count)
            *find_collective(table, slots - 1, &thread->collectives[i]) = thread->collectives[i];
    rw_replace_table(thread->collective_run, run);
    thread->collective_run = run;
    thread->collectives = table;
    thread->last_collective = table; /* the old one is no longer mapped */
    memset(thread->recent_collectives, 0, sizeof thread->recent_collectives);
    thread->collective_mask = slots - 1;
    thread->collective_tables++;
    return 0;
}

static uint64_t bin_upper_bound(uint64_t bytes) {
    unsigned bin = rw_size_bin(bytes);
    return bin < 2 ? bin : (uint64_t)1 << (bin - 1);
}

/* Not there yet: a new entry, or once there are too many, the one of its size bin. NULL without space. */
static struct rw_collective_entry *new_collective(struct rw_thread *thread,
                                                  const struct rw_collective_entry *call) {
    struct rw_collective_entry key = *call;
    if (thread->collectives_binned) {
        key.flags |= RW_COLL_BINNED;
        key.bytes = bin_upper_bound(key.bytes);
        key.bytes2 = bin_upper_bound(key.bytes2);
    }
    if ((!thread->collectives || 4 * (thread->collective_entries + 1) > 3 * (thread->collective_mask + 1)) &&
        grow_collectives(thread) != 0)
        return NULL;
    struct rw_collective_entry *entry = find_collective(thread->collectives, thread->collective_mask, &key);
    if (entry->count)
        return entry;
    memcpy(entry, &key, RW_COLLECTIVE_KEY_BYTES);
    entry->ticks = 0;
    thread->collective_entries++;
    if (4 * thread->collective_entries >= 3 * MOST_COLLECTIVE_SLOTS && !thread->collectives_binned) {
        thread->collectives_binned = 1;
        thread->rank->flags |= RW_APPROXIMATE_COLLECTIVES;
    }
    return entry;
}

void rw_count_other_collective(struct rw_thread *thread, const struct rw_collective_entry *call,
                               uint64_t ticks) {
    struct rw_collective_entry *entry = NULL;
    if (RW_LIKELY(thread->collectives != 0))
        entry = find_collective(thread->collectives, thread->collective_mask, call);
    if (!entry || entry->count == 0)
        entry = new_collective(thread, call);
    if (!entry)
        return;
    thread->last_collective = entry;
    entry->ticks += ticks;
    __atomic_store_n(&entry->count, entry->count + 1, __ATOMIC_RELEASE);
}
