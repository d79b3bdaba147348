/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters of system calls (seccomp) mostly refuse perf_event_open with an errno; some kill who calls it. So
 * where there is a filter, a process of its own tries first: it shares memory with this one, has its own
 * stack, and sends no signal when it ends, so that the program neither waits for it nor hears of it.
 */
#include "counters/seccomp.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counters/kept.h"

#define STACK_BYTES 65536u

static int try_it(void *nothing) {
    const struct rlimit none = {0, 0};
    (void)nothing;
    /* Neither a handler of the program's nor a core file. */
    signal(SIGSYS, SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
    _exit(0);
}

const char *rw_perf_kills(void) {
    static struct rw_reader reader;
    uint64_t mode = 0;
    int status = 0;
    if (!rw_look_up(&reader, "/proc/self/status", "Seccomp", &mode) || mode == 0)
        return NULL;
    char *const stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return "no memory to try whether seccomp allows perf_event_open";
    const pid_t child = clone(try_it, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, NULL);
    pid_t waited;
    do
        waited = child > 0 ? waitpid(child, &status, __WALL) : -1;
    while (waited < 0 && child > 0 && errno == EINTR);
    munmap(stack, STACK_BYTES);
    if (waited != child || child < 0)
        return "it could not be tried whether seccomp allows perf_event_open";
    return WIFSIGNALED(status) ? "seccomp kills who calls perf_event_open" : NULL;
}
