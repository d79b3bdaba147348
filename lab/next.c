/* SPDX-License-Identifier: BSD-3-Clause */
/* What our versions of MPI's functions call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "next.h"

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
void *rw_next(void **known, const char *name) {
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
