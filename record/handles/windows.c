/* SPDX-License-Identifier: BSD-3-Clause */
#include "handles/windows.h"

#include <stdlib.h>

#define BUCKETS 64u

struct window {
    struct window *next;
    uintptr_t handle;
    struct rw_group *group;
};

static struct window *buckets[BUCKETS]; /* read without lock */
static int lock;
static const struct rw_group nobody = {.regular = 1};

static struct window **bucket_of(uintptr_t handle) {
    return &buckets[(uint64_t)handle * 0x9e3779b97f4a7c15u >> 58];
}

static struct window *look_up(uintptr_t handle) {
    struct window *window = __atomic_load_n(bucket_of(handle), __ATOMIC_ACQUIRE);
    while (window && window->handle != handle)
        window = __atomic_load_n(&window->next, __ATOMIC_ACQUIRE);
    return window;
}

/* Two threads may add the same window at once; which of the two is found is all the same, and both are freed.
 */
static const struct rw_group *add(MPI_Win win) {
    MPI_Group group;
    if (RW_PMPI_CALL(Win_get_group, MPI_Win, MPI_Group *)(win, &group) != MPI_SUCCESS)
        return &nobody;
    struct rw_group *resolved = rw_resolve_group(group);
    struct window *window = malloc(sizeof *window);
    if (!window)
        return resolved;
    *window = (struct window){.handle = (uintptr_t)win, .group = resolved};
    rw_lock(&lock);
    struct window **bucket = bucket_of(window->handle);
    window->next = *bucket;
    __atomic_store_n(bucket, window, __ATOMIC_RELEASE);
    rw_unlock(&lock);
    return resolved;
}

const struct rw_group *rw_window_group(MPI_Win win) {
    const struct window *known = look_up((uintptr_t)win);
    return known ? known->group : add(win);
}

void rw_window_freed(MPI_Win win) {
    rw_lock(&lock);
    for (struct window **link = bucket_of((uintptr_t)win), *window; (window = *link) != NULL;) {
        if (window->handle != (uintptr_t)win) {
            link = &window->next;
            continue;
        }
        __atomic_store_n(link, window->next, __ATOMIC_RELEASE);
        if (!rw_process.multiple) /* else another thread may still be walking past it */
            free(window);
    }
    rw_unlock(&lock);
}
