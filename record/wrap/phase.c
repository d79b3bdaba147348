/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Pcontrol, by which programs tell tools where they are, and the phase that a trace is cut to.
 *
 * The standard gives it a level and leaves the rest open (MPI 5.0, section 15.2.4). A phase that has a level
 * begins with it and ends with any other one: MPI_Pcontrol(1) and MPI_Pcontrol(0) switch profiling on and
 * off. One that has a name is between MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name"), as IPM's regions
 * are; Fortran has levels only. The call that begins the phase is not traced, the one that ends it is, for
 * the computation before it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "process/process.h"
#include "trace/trace.h"
#include "wrap/wrap.h"

/* Longer names are compared so far. */
#define NAME_BYTES 256

enum change { STAYS, BEGINS, ENDS };

/*
 * Whether there is such a text. A program that passes no name leaves anything in its place, so the system is
 * asked to read it, which refuses where there is nothing.
 */
static int is_name(const void *text) {
    char found[NAME_BYTES];
    const uint64_t bytes = rw_process.phase_bytes < NAME_BYTES ? rw_process.phase_bytes : NAME_BYTES;
    const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (memory < 0)
        return 0;
    const ssize_t length = pread(memory, found, bytes, (off_t)(uintptr_t)text);
    close(memory);
    return length == (ssize_t)bytes && memcmp(found, rw_process.phase, bytes) == 0;
}

static enum change change_of(int level, const void *first) {
    if (!rw_process.phase_bytes)
        return level == rw_process.phase_level ? BEGINS : ENDS;
    if ((level != 1 && level != -1) || !is_name(first))
        return STAYS;
    return level == 1 ? BEGINS : ENDS;
}

static void pass_phase(struct rw_thread *thread, int level, const void *first, uint64_t end) {
    const int kept = errno;
    const enum change change = change_of(level, first);
    errno = kept;
    if (change == STAYS || (change == BEGINS) == thread->in_phase)
        return;
    thread->in_phase = change == BEGINS;
    if (change == ENDS) {
        rw_trace_flush(thread);
        thread->traced = 0;
    } else if (thread->stored && !thread->full) {
        thread->traced = 1;
        thread->last_end = end;
        thread->next_sample = 0; /* a gap begins that may have to be measured */
    }
}

#define PCONTROL(entry, name)                                                                                \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result =                                                                                   \
            ((int (*)(int, ...))rw_next[RW_ENTRY_##entry][RW_CALL_##name])(RW_ARGUMENTS_##name);             \
        RW_CALLED(name);                                                                                     \
        if (thread->traced)                                                                                  \
            rw_trace_plain(thread, RW_CALL_##name, begin, end);                                              \
        if (rw_process.phase)                                                                                \
            pass_phase(thread, level, argument_1, end);                                                      \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define PCONTROLS(name, call, base, large, parameters) PCONTROL(mpi, name) PCONTROL(pmpi, name)
RW_CALLS_pcontrol(PCONTROLS)
