/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"

#include <ctype.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "calibrate.h"
#include "communicators.h"
#include "complain.h"
#include "requests.h"
#include "storage.h"
#include "topology.h"
#include "trace.h"

struct rw_process rw_process;

static void copy_text(char *to, size_t bytes, const char *from) {
    size_t length = strnlen(from, bytes - 1);
    memcpy(to, from, length);
    to[length] = 0;
}

/* What tells one MPI job from another that is recorded into the same directory; empty where nothing does. */
static void name_job(char *job, size_t bytes) {
    static const char *const names[] = {"PMIX_NAMESPACE", "SLURM_STEP_ID", "FLUX_JOB_ID",
                                        "PALS_APID",      "PMI_JOBID",     "OMPI_MCA_ess_base_jobid",
                                        "PBS_JOBID",      "LSB_JOBID"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0]) {
            copy_text(job, bytes, value);
            return;
        }
    }
}

static int asked_for(const char *variable, const char *what) {
    const char *value = getenv(variable);
    return value && strcmp(value, what) == 0;
}

/* RANKWISE_TRACE_CALLS=FIRST..LAST: calls of each thread after MPI_Init, counted from 1. */
static void note_window(struct rw_rank *rank) {
    const char *value = getenv("RANKWISE_TRACE_CALLS");
    char *end = NULL;
    if (!rw_process.traced || !value)
        return;
    const uint64_t first = strtoull(value, &end, 10);
    const uint64_t last = strncmp(end, "..", 2) == 0 ? strtoull(end + 2, NULL, 10) : 0;
    if (first == 0 || last < first)
        return;
    rw_process.first_call = first;
    rw_process.last_call = last;
    rank->flags |= RW_TRACE_CUT;
}

/* RANKWISE_PHASE=NAME or LEVEL: what is traced is between calls of MPI_Pcontrol (wrap_phase.c). */
static void note_phase(struct rw_rank *rank) {
    const char *value = getenv("RANKWISE_PHASE");
    char *end = NULL;
    if (!rw_process.traced || !value || !value[0])
        return;
    rw_process.phase = value;
    rw_process.phase_level = (int)strtol(value, &end, 10);
    rw_process.phase_bytes = *end ? strlen(value) + 1 : 0;
    rank->flags |= RW_TRACE_CUT;
}

void rw_process_prepare(const struct rw_library *library) {
    struct rw_rank *rank = &rw_process.rank;
    struct utsname system;
    rw_process.directory = library->directory;
    rw_process.exact = asked_for("RANKWISE_TRACE", "exact");
    rw_process.traced = rw_process.exact || asked_for("RANKWISE_TRACE", "1");
    rank->flavour = library->flavour;
    rw_process.timed = !asked_for("RANKWISE_COUNTS", "1");
    rw_process.sited = asked_for("RANKWISE_SITES", "1");
    rank->flags = (rw_process.traced ? RW_TRACED : 0) | (rw_process.timed ? 0 : RW_UNTIMED);
    rank->trace_coding = rw_process.exact ? RW_TRACE_EXACT : RW_TRACE_QUANTISED;
    rank->trace_unit_shift = RW_UNIT_SHIFT;
    note_window(rank);
    note_phase(rank);
    copy_text(rank->mpi_library, sizeof rank->mpi_library, library->path);
    copy_text(rank->mpi_version, sizeof rank->mpi_version, library->version);
    name_job(rank->job, sizeof rank->job);
    if (readlink("/proc/self/exe", rank->executable, sizeof rank->executable - 1) < 0)
        rank->executable[0] = 0;
    if (uname(&system) == 0)
        copy_text(rank->host, sizeof rank->host, system.nodename);
    for (char *letter = rank->host; *letter; letter++)
        if (*letter == '/' || isspace((unsigned char)*letter))
            *letter = '_';
    if (!rank->host[0])
        copy_text(rank->host, sizeof rank->host, "unknown");
    rw_threads_prepare();
}

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
    RW_PMPI_CALL(Group_size, MPI_Group, int *)(rw_process.world_group, &size);
    RW_PMPI_CALL(Group_rank, MPI_Group, int *)(rw_process.world_group, &self);
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
    /* What the recorder itself took belongs to no one. */
    thread->last_end = rw_process.init_ticks = thread->rank->init_ticks = rw_ticks();
    thread->rank->recorder_ticks += rw_process.init_ticks - begin;
    rw_await_gap(thread, rw_process.init_ticks);
}

void rw_process_start_world(struct rw_thread *thread, int provided, uint64_t init_ticks) {
    rw_process.world_model = 1;
    if (rw_process.ready || rw_process.inert)
        return;
    if (RW_PMPI_CALL(Comm_group, MPI_Comm, MPI_Group *)(MPI_COMM_WORLD, &rw_process.world_group) ==
        MPI_SUCCESS)
        start(thread, provided, init_ticks);
}

static int world_of(void *session) {
    return RW_PMPI_CALL(Group_from_session_pset, MPI_Session, const char *,
                        MPI_Group *)(*(MPI_Session *)session, "mpi://WORLD", &rw_process.world_group);
}

/* A session after the last one: the world goes on. */
static void reopen(void *session) {
    rw_process.finished = 0;
    if (!RW_HAS(Group_from_session_pset) || world_of(session) != MPI_SUCCESS)
        rw_process.world_group = MPI_GROUP_NULL;
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next) {
        __atomic_fetch_and(&each->rank->flags, ~(uint32_t)RW_FINALIZED, __ATOMIC_RELAXED);
        each->rank->finalize_ticks = 0;
        rw_seal(each, 0);
    }
}

void rw_process_start_session(struct rw_thread *thread, void *session, uint64_t init_ticks) {
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

void rw_process_finish(struct rw_thread *thread, uint64_t now) {
    if (!rw_process.ready)
        return;
    if (!rw_process.timed)
        now = rw_ticks();
    thread->sample_due = 0;
    rw_sample(thread, now);
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
    if (!rw_process.sessions && rw_process.world_group != MPI_GROUP_NULL)
        RW_PMPI_CALL(Group_free, MPI_Group *)(&rw_process.world_group);
}

void rw_process_close(void) {
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

void rw_process_abort(void) {
    for (struct rw_thread *each = rw_all_threads(); each; each = each->next)
        rw_relate_clocks(each->rank);
    rw_flag_all_threads(RW_ABORTED);
}
