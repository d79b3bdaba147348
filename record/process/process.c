/* SPDX-License-Identifier: BSD-3-Clause */
#include "process/process.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process/ticks.h"

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

/* RANKWISE_PHASE=NAME or LEVEL: what is traced is between calls of MPI_Pcontrol (wrap/phase.c). */
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
}
