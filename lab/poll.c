/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that look for messages and return at once. A program that waits in a loop of them keeps its core
 * busy: MPICH gives it up inside calls that wait only. Where the core is shared, the ranks it waits for then
 * do not get on. So a poll that finds nothing is a look like any other (yield.c).
 *
 * A program that works between its polls is no waiting one, and must not be slowed. A loop that does nothing
 * else comes back within a few microseconds, those of a recorder included; who sleeps after every sixth look
 * pays some 50 us for each. If a poll begins more than 20 us after the last that found nothing, the program
 * has worked (or was not run) meanwhile: what it could have saved is less than the sleep would cost it.
 *
 * Nothing of mpi.h is needed: all parameters are integers and pointers, so each is passed on as wide as a
 * register. Communicators and requests are an int with MPICH and a pointer with Open MPI; of an int the
 * callee looks at the lower half only, as it does in its caller's registers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "look.h"

#define EXPORT __attribute__((visibility("default")))

enum { WORK_NS = 20000 };

/* Polls may be inside each other: a tool's MPI_Test calls PMPI_Test. The outermost counts. */
static _Thread_local struct {
    int depth, gave_up;
    int64_t began_ns, found_nothing_ns;
} poll;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int rw_counted_by_poll(void) {
    return poll.depth && !poll.gave_up++;
}

static void begin(void) {
    if (poll.depth++)
        return;
    poll.gave_up = 0;
    poll.began_ns = now_ns();
}

static void end(intptr_t result, intptr_t flag) {
    if (--poll.depth || (int)result || *(const int *)flag)
        return;
    if (poll.began_ns - poll.found_nothing_ns <= WORK_NS)
        rw_look_or_sleep();
    poll.found_nothing_ns = now_ns();
}

struct wanted {
    const char *name;
    void *function;
};

static int search(struct dl_phdr_info *object, size_t size, void *data) {
    struct wanted *wanted = data;
    (void)size;
    void *handle =
        object->dlpi_name && object->dlpi_name[0] ? dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!handle)
        return 0;
    wanted->function = dlsym(handle, wanted->name);
    dlclose(handle);
    return wanted->function != NULL;
}

/* Recorders have their version of each call, as we do (polls.map). Extension modules load MPI for themselves
 * only. */
static void *next(void **known, const char *name) {
    void *function = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (function)
        return function;
    function = dlvsym(RTLD_NEXT, name, "RANKWISE_1");
    if (!function)
        function = dlsym(RTLD_NEXT, name);
    if (!function) {
        struct wanted wanted = {name, NULL};
        dl_iterate_phdr(search, &wanted);
        function = wanted.function;
    }
    dlerror();       /* the program must not find our failures */
    if (!function) { /* what the loader would have said and done */
        dprintf(STDERR_FILENO, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name,
                name);
        _exit(127);
    }
    __atomic_store_n(known, function, __ATOMIC_RELAXED);
    return function;
}

#define PARAMETERS_3 intptr_t a1, intptr_t a2, intptr_t a3
#define PARAMETERS_4 PARAMETERS_3, intptr_t a4
#define PARAMETERS_5 PARAMETERS_4, intptr_t a5
#define PARAMETERS_6 PARAMETERS_5, intptr_t a6
#define ARGUMENTS_3 a1, a2, a3
#define ARGUMENTS_4 ARGUMENTS_3, a4
#define ARGUMENTS_5 ARGUMENTS_4, a5
#define ARGUMENTS_6 ARGUMENTS_5, a6

/*
 * MPI_X@RANKWISE_1, as in record/shim.c: calls are bound to it, a recorder that comes before finds it, and a
 * program that asks with dlsym which MPI is there does not.
 */
#define ENTRY(prefix, name, parameters, flag)                                                                \
    EXPORT intptr_t rw_##prefix##name(PARAMETERS_##parameters) {                                             \
        static void *known;                                                                                  \
        intptr_t (*function)(PARAMETERS_##parameters) =                                                      \
            (intptr_t (*)(PARAMETERS_##parameters))(uintptr_t)next(&known, #prefix #name);                   \
        begin();                                                                                             \
        const intptr_t result = function(ARGUMENTS_##parameters);                                            \
        end(result, flag);                                                                                   \
        return result;                                                                                       \
    }                                                                                                        \
    __asm__(".symver rw_" #prefix #name ", " #prefix #name "@RANKWISE_1");

#define POLL(name, parameters, flag) ENTRY(MPI_, name, parameters, flag) ENTRY(PMPI_, name, parameters, flag)

POLL(Iprobe, 5, a4)
POLL(Improbe, 6, a4)
POLL(Test, 3, a2)
POLL(Testall, 4, a3)
POLL(Testany, 5, a4)
POLL(Testsome, 5, a3) /* how many have ended; without active requests MPI_UNDEFINED, which is not 0 */
POLL(Request_get_status, 3, a2)
