/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/find_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "../formats/recording.h"

#define CALL_NAME(name, number, base, large, parameters) "MPI_" #name,
static const char *const call_names[] = {RW_CALLS(CALL_NAME)};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int looks_like_mpi(const char *path) {
    const char *name = base_name(path);
    return strncmp(name, "libmpi.", 7) == 0 || strncmp(name, "libmpich", 8) == 0 ||
           strncmp(name, "libmpi_", 7) == 0;
}

/* Side libraries (libmpi_mpifh, libmpi_cxx, ...) pass the name test, so the symbol decides. */
static void *open_if_mpi(const char *path) {
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && !dlsym(handle, "PMPI_Get_library_version")) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (info->dlpi_name && looks_like_mpi(info->dlpi_name))
        *(void **)found = open_if_mpi(info->dlpi_name);
    return *(void **)found != NULL;
}

static void *find_handle(const void *caller) {
    void *handle = NULL;
    Dl_info where;
    struct link_map *map = NULL;
    void *function = dlsym(RTLD_NEXT, "PMPI_Get_library_version");
    if (function && dladdr1(function, &where, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0])
        handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle && caller && dladdr1(caller, &where, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0])
        handle = open_if_mpi(map->l_name);
    if (!handle)
        dl_iterate_phdr(visit_object, &handle);
    return handle;
}

static const char *path_of(void *handle) {
    Dl_info where;
    void *function = dlsym(handle, "PMPI_Get_library_version");
    return function && dladdr(function, &where) ? where.dli_fname : NULL;
}

const char *rw_loaded_mpi(void) {
    void *handle = find_handle(NULL);
    const char *path = handle ? path_of(handle) : NULL;
    dlerror(); /* the program must not find our failures */
    return path;
}

static void *next(const char *name) {
    void *of_shim = dlvsym(RTLD_NEXT, name, "RANKWISE_1");
    return of_shim ? of_shim : dlsym(RTLD_NEXT, name);
}

int rw_find_mpi(const void *caller, struct rw_library *library) {
    void *handle = find_handle(caller);
    if (!handle)
        return -1;
    library->handle = handle;
    library->path = path_of(handle);
    if (!library->path)
        return -1;
    /*
     * A tool may stand between: then RTLD_NEXT finds the tool's MPI_X, and the library's PMPI_X. Another
     * shim, which renumbers the ranks, has both, but under the version that shim.c gives them only.
     */
    for (unsigned call = 0; call < RW_CALL_COUNT; call++) {
        char pmpi[80];
        snprintf(pmpi, sizeof pmpi, "P%s", call_names[call]);
        void *next_mpi = next(call_names[call]), *next_pmpi = next(pmpi);
        library->next[RW_MPI][call] = (rw_function)(next_mpi ? next_mpi : dlsym(handle, call_names[call]));
        library->next[RW_PMPI][call] = (rw_function)(next_pmpi ? next_pmpi : dlsym(handle, pmpi));
    }
    dlerror();
    return 0;
}

uint32_t rw_flavour_of(const struct rw_library *library) {
    const char *version = library->version;
    unsigned major = 0, minor = 0;
    if (strncmp(base_name(library->path), "libmpi_abi", 10) == 0)
        return RW_MPI_STANDARD_ABI;
    if (dlsym(library->handle, "ompi_mpi_comm_world") && dlsym(library->handle, "ompi_request_null"))
        return RW_MPI_OPENMPI;
    /* The ABI that MPICH, Intel MPI, MVAPICH and Cray MPI share (www.mpich.org/abi) begins with MPICH 3.1. */
    const char *mpich = strstr(version, "MPICH Version:");
    if (mpich && sscanf(mpich + strlen("MPICH Version:"), " %u.%u", &major, &minor) == 2)
        return major > 3 || (major == 3 && minor >= 1) ? RW_MPI_MPICH : RW_MPI_UNKNOWN;
    if (strstr(version, "Intel(R) MPI Library") || strstr(version, "CRAY MPICH") ||
        strstr(version, "MVAPICH") || strstr(version, "ParaStation") || strstr(version, "MPICH"))
        return RW_MPI_MPICH;
    return RW_MPI_UNKNOWN;
}
