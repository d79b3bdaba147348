/* SPDX-License-Identifier: BSD-3-Clause */
#include "lifetime/world.h"
#include "thread/current.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "counters/counters.h"
#include "handles/communicators.h"
#include "handles/requests.h"
#include "lifetime/calibrate.h"
#include "lifetime/sample.h"
#include "lifetime/seals.h"
#include "network/network.h"
#include "network/variables.h"
#include "process/complain.h"
#include "process/process.h"
#include "store/storage.h"
#include "store/topology.h"
#include "thread/gaps.h"
#include "trace/trace.h"

static void note_binding(struct rw_rank *rank) {
    cpu_set_t *cpus = (cpu_set_t *)rank->affinity;
    if (sched_getaffinity(0, sizeof rank->affinity, cpus) != 0)
        memset(rank->affinity, 0, sizeof rank->affinity);
    int cpu = sched_getcpu();
    rank->cpu_at_start = cpu < 0 ? UINT32_MAX : (uint32_t)cpu;
}

/* The world group and this process's place in it are known. */
static void start(struct rw_thread *thread, int provided, uint64_t init_ticks) {
    struct rw_rank *rank = &rw_process.rank;
    const uint64_t begin = rw_ticks();
    int size = 0, self = 0;
    RW_PMPI_CALL(Group_size, MPI_Group, int *)(rw_world_group, &size);
    RW_PMPI_CALL(Group_rank, MPI_Group, int *)(rw_world_group, &self);
    rank->world_size = (uint32_t)size;
    rank->world_rank = (uint32_t)self;
    rank->pid = (uint32_t)getpid();
    rank->thread_level = provided == MPI_THREAD_MULTIPLE     ? 3
                         : provided == MPI_THREAD_SERIALIZED ? 2
                         : provided == MPI_THREAD_FUNNELED   ? 1
                                                             : 0;
    note_binding(rank);
    if (provided == MPI_THREAD_MULTIPLE)
        rw_requests_share();
    rw_process.init_ticks = init_ticks;
    const char *trouble = rw_storage_open(rw_process.directory, rank->host);
    if (!trouble) {
        rw_thread_store(thread);
        trouble = thread->full ? "the file system of RANKWISE_DIR has no space" : NULL;
    }
    if (trouble) {
        if (self == 0)
            rw_complain("nothing is recorded: ", trouble, rw_process.directory);
        rw_process.inert = 1;
        return;
    }
    __atomic_store_n(&rw_process.ready, 1, __ATOMIC_RELEASE);
    rw_register_world(thread, rank->world_size, rank->world_rank);
    rw_save_topology();
#if !defined(OPEN_MPI) && !defined(RW_MPICH_ABI)
    rw_try_status();
#endif
    rw_calibrate(thread);
    rw_variables_start(); /* before, so that what it takes is not the program's */
    rw_counters_start(thread);
    rw_network_start(thread);
    /* What the recorder itself took, and waited for a core meanwhile, belongs to no one. */
    rw_thread_begin_schedstat(thread);
    thread->rank->recorder_ticks = 0;
    thread->last_end = rw_process.init_ticks = thread->rank->init_ticks = rw_ticks();
    rw_counters_set_aside(thread, rw_process.init_ticks - begin);
    rw_await_gap(thread, rw_process.init_ticks);
}

void rw_world_start(struct rw_thread *thread, int provided, uint64_t init_ticks) {
    rw_process.world_model = 1;
    if (rw_process.ready || rw_process.inert)
        return;
    if (RW_PMPI_CALL(Comm_group, MPI_Comm, MPI_Group *)(MPI_COMM_WORLD, &rw_world_group) == MPI_SUCCESS)
        start(thread, provided, init_ticks);
}

static int world_of(void *session) {
    return RW_PMPI_CALL(Group_from_session_pset, MPI_Session, const char *,
                        MPI_Group *)(*(MPI_Session *)session, "mpi://WORLD", &rw_world_group);
}

/* A session after the last one: the world goes on. */
static void reopen(void *session) {
    rw_process.finished = 0;
    if (!RW_HAS(Group_from_session_pset) || world_of(session) != MPI_SUCCESS)
        rw_world_group = MPI_GROUP_NULL;
    rw_network_switch(1);
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next) {
        __atomic_fetch_and(&each->rank->flags, ~(uint32_t)RW_FINALIZED, __ATOMIC_RELAXED);
        each->rank->finalize_ticks = 0;
        rw_seal(each, 0);
    }
}

void rw_world_start_session(struct rw_thread *thread, void *session, uint64_t init_ticks) {
    rw_process.sessions++;
    if (rw_process.finished)
        reopen(session);
    if (rw_process.ready && !rw_process.multiple)
        rw_requests_share(); /* it may be of a higher level than the world */
    if (rw_process.ready || rw_process.inert || !RW_HAS(Group_from_session_pset))
        return;
    if (world_of(session) == MPI_SUCCESS)
        start(thread, MPI_THREAD_MULTIPLE, init_ticks);
}

void rw_world_finish(struct rw_thread *thread, uint64_t now) {
    if (!rw_process.ready)
        return;
    if (!rw_process.timed)
        now = rw_ticks();
    thread->sample_due = 0;
    rw_sample(thread, now);
    rw_network_switch(0);
    const uint64_t begin = rw_ticks();
    rw_counters_end(thread);
    rw_variables_end();
    rw_counters_set_aside(thread, rw_ticks() - begin);
    if (thread->traced)
        rw_trace_flush(thread);
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next) {
        each->rank->finalize_ticks = now;
        rw_relate_clocks(each->rank);
    }
    rw_flag_all_threads(RW_FINALIZED);
    /* Nothing changes until MPI_Finalize returns, if it does. */
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next)
        rw_seal(each, 0);
    rw_process.finishing = 1;
    if (!rw_process.sessions && rw_world_group != MPI_GROUP_NULL)
        RW_PMPI_CALL(Group_free, MPI_Group *)(&rw_world_group);
}

void rw_world_close(void) {
    if (!rw_process.finishing)
        return;
    rw_process.finishing = 0;
    if (rw_process.sessions)
        return;
    rw_process.finished = 1;
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next) {
        each->next_sample = 0;
        rw_seal(each, 1);
    }
}

void rw_world_abort(void) {
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next)
        rw_relate_clocks(each->rank);
    rw_flag_all_threads(RW_ABORTED);
}
