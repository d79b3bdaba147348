/* SPDX-License-Identifier: BSD-3-Clause */
#include "network/network.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "store/storage.h"
#include "thread/current.h"
#include "thread/thread.h"

_Static_assert(sizeof(struct rw_network_peer) == 224, "as readers expect");

static struct rw_network *network;
static struct rw_thread *owner;

static int inside_mpi(void) {
    return rw_self && rw_self->busy;
}

static int add_run(struct rw_thread *thread) {
    struct rw_chunk_header *run = rw_storage_take(RW_CHUNK_NETWORK, 1, network->runs, NULL);
    if (!run)
        return -1;
    run->rank_chunk = thread->rank_chunk;
    run->used = network->runs ? 0 : sizeof(struct rw_network_peer);
    rw_storage_publish(run);
    network->run[network->runs] = run;
    __atomic_store_n(&network->runs, network->runs + 1, __ATOMIC_RELEASE);
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
    if (!network || !thread->rank_run || add_run(thread) != 0)
        return;
    owner = thread;
    network->inside_mpi = inside_mpi;
    network->peers = 1;
    pthread_atfork(NULL, NULL, forked_child);
    rw_network_switch(1);
}

void rw_network_grow(struct rw_thread *thread) {
    if (thread != owner || network->runs == RW_NETWORK_RUNS)
        return;
    const uint32_t room = network->runs * (uint32_t)RW_NETWORK_A_RUN;
    if (__atomic_load_n(&network->peers, __ATOMIC_RELAXED) > room / 4 * 3)
        (void)add_run(thread);
}

void rw_network_seal(struct rw_thread *thread, int closed) {
    for (uint32_t i = 0; thread == owner && i < network->runs; i++)
        rw_storage_seal(network->run[i], network->run[i]->used, closed);
}

void rw_network_switch(int on) {
    if (network && network->runs)
        __atomic_store_n(&network->on, on, __ATOMIC_RELEASE);
}
