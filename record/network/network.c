/* SPDX-License-Identifier: BSD-3-Clause */
#include "network/network.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/storage.h"
#include "thread/current.h"
#include "thread/thread.h"

_Static_assert(sizeof(struct rw_network_peer) == 224, "as readers expect");
_Static_assert(sizeof(struct rw_transport_entry) == 240, "as readers expect");

static struct rw_network *network;
static struct rw_thread *owner;

static int inside_mpi(void) {
    return rw_self && rw_self->busy;
}

static int add_run(struct rw_thread *thread, struct rw_network_table *table, uint32_t kind, uint64_t used) {
    struct rw_chunk_header *run = rw_storage_take(kind, 1, table->runs, NULL);
    if (!run)
        return -1;
    run->rank_chunk = thread->rank_chunk;
    run->used = used;
    rw_storage_publish(run);
    table->run[table->runs] = run;
    __atomic_store_n(&table->runs, table->runs + 1, __ATOMIC_RELEASE);
    return 0;
}

void rw_network_prepare(struct rw_network *of_shim) {
    const char *asked = getenv("RANKWISE_NETWORK");
    network = asked && strcmp(asked, "0") == 0 ? NULL : of_shim;
}

static void forked_child(void) {
    rw_network_switch(0);
}

void rw_network_start(struct rw_thread *thread) {
    if (!network || !thread->rank_run)
        return;
    network->sockets.used = 1;
    network->transports.used = RW_TRANSPORTS;
    if (add_run(thread, &network->sockets, RW_CHUNK_NETWORK, sizeof(struct rw_network_peer)) != 0 ||
        add_run(thread, &network->transports, RW_CHUNK_TRANSPORTS,
                RW_TRANSPORTS * sizeof(struct rw_transport_entry)) != 0)
        return;
    struct rw_transport_entry *entries = (struct rw_transport_entry *)(network->transports.run[0] + 1);
    for (uint32_t transport = 0; transport < RW_TRANSPORTS; transport++)
        entries[transport].transport = transport;
    owner = thread;
    network->inside_mpi = inside_mpi;
    pthread_atfork(NULL, NULL, forked_child);
    rw_network_switch(1);
    network->begun();
}

static void grow(struct rw_thread *thread, struct rw_network_table *table, uint32_t kind, uint32_t a_run) {
    const uint32_t room = table->runs * a_run;
    if (table->runs < RW_NETWORK_RUNS && __atomic_load_n(&table->used, __ATOMIC_RELAXED) > room / 4 * 3)
        (void)add_run(thread, table, kind, 0);
}

void rw_network_grow(struct rw_thread *thread) {
    if (thread != owner)
        return;
    grow(thread, &network->sockets, RW_CHUNK_NETWORK, RW_NETWORK_A_RUN(struct rw_network_peer));
    grow(thread, &network->transports, RW_CHUNK_TRANSPORTS, RW_NETWORK_A_RUN(struct rw_transport_entry));
}

static void seal(const struct rw_network_table *table, int closed) {
    for (uint32_t i = 0; i < table->runs; i++)
        rw_storage_seal(table->run[i], table->run[i]->used, closed);
}

void rw_network_seal(struct rw_thread *thread, int closed) {
    if (thread != owner)
        return;
    seal(&network->sockets, closed);
    seal(&network->transports, closed);
}

void rw_network_switch(int on) {
    if (owner)
        __atomic_store_n(&network->on, on, __ATOMIC_RELEASE);
}
