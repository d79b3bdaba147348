/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libc's calls that bind threads to cores: who made the last one that bound the first thread.
 * Runtimes that make the system call themselves (LLVM's and Intel's OpenMP) are not seen here.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/setter.h"

#define EXPORT __attribute__((visibility("default")))

struct rw_mask_setter rw_shim_setter;

static int (*next_sched)(pid_t thread, size_t size, const cpu_set_t *set);
static int (*next_pthread)(pthread_t thread, size_t size, const cpu_set_t *set);
static pthread_t first_thread;

/* Callers before this, constructors of other libraries, look up their own. */
#define FIND(next, name) (next ? next : (next = (__typeof__(next))(uintptr_t)dlsym(RTLD_NEXT, name)))

__attribute__((constructor)) static void find_all(void) {
    (void)FIND(next_sched, "sched_setaffinity");
    (void)FIND(next_pthread, "pthread_setaffinity_np");
    first_thread = pthread_self();
    dlerror(); /* the program must not find our failures */
}

static void note(const void *caller) {
    __atomic_store_n(&rw_shim_setter.caller, caller, __ATOMIC_RELAXED);
    __atomic_fetch_add(&rw_shim_setter.calls, 1, __ATOMIC_RELEASE);
}

EXPORT int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set) {
    const int failed = FIND(next_sched, "sched_setaffinity")(thread, size, set);
    if (!failed && (thread ? thread : (pid_t)syscall(SYS_gettid)) == getpid())
        note(__builtin_return_address(0));
    return failed;
}

EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    const int failed = FIND(next_pthread, "pthread_setaffinity_np")(thread, size, set);
    if (!failed && pthread_equal(thread, first_thread))
        note(__builtin_return_address(0));
    return failed;
}
