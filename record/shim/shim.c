/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one library that is preloaded: for recording, or for renumbering (shim.h).
 * It links nothing but libc, does nothing until MPI is called, and nothing at all in processes that never
 * call MPI.
 *
 * All MPI parameters and results are of the integer class (integers and pointers), so one C function with
 * intptr_t parameters stands for each MPI function on any MPI: it hands the argument registers and stack on
 * as they are.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../formats/recording.h"
#include "process/attach.h"
#include "shim/find_mpi.h"
#include "shim/hide.h"
#include "shim/shim_of.h"

#define EXPORT __attribute__((visibility("default")))
#define COLD __attribute__((noinline, cold))

/* Space for any library's version text (MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH and the standard
 * ABI). */
#define VERSION_BYTES 16384

static rw_function slots[RW_ENTRIES][RW_CALL_COUNT];
static struct rw_library library;
static char version_text[VERSION_BYTES];

enum { UNRESOLVED, RESOLVING, RESOLVED };
static int state = UNRESOLVED;

/* Says at most one line, and only from rank 0 where the launcher tells ranks apart. */
static void complain(const char *format, ...) {
    static const char *const rank_variables[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                                 "SLURM_PROCID"};
    for (unsigned i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *rank = getenv(rank_variables[i]);
        if (rank && strcmp(rank, "0") != 0)
            return;
    }
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        (void)!write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void fill_slots_with_the_library(void) {
    for (int entry = 0; entry < RW_ENTRIES; entry++)
        for (int call = 0; call < RW_CALL_COUNT; call++)
            if (library.next[entry][call])
                __atomic_store_n(&slots[entry][call], library.next[entry][call], __ATOMIC_RELEASE);
}

static const char *attach_recorder(void) {
    static const char *const names[] = {NULL, "mpich", "openmpi", "standard_abi"};
    enum { KNOWN = sizeof names / sizeof *names };
    char path[4096];
    Dl_info self;
    library.directory = getenv(rw_shim.variable);
    library.network = rw_shim.network;
    library.setter = rw_shim.setter;
    library.flavour = rw_flavour_of(&library);
    /* `rankwise record --mpi` counts where the library does not say itself what it is. */
    const char *said = getenv("RANKWISE_FLAVOUR");
    for (uint32_t flavour = RW_MPI_UNKNOWN + 1; said && library.flavour == RW_MPI_UNKNOWN && flavour < KNOWN;
         flavour++)
        if (strcmp(said, names[flavour]) == 0)
            library.flavour = flavour;
    if (library.flavour == RW_MPI_UNKNOWN)
        return "its ABI is not known";
    if (!dladdr((void *)slots, &self) || !self.dli_fname || !strrchr(self.dli_fname, '/'))
        return "the recorder's own directory was not found";
    int directory = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
    int length = snprintf(path, sizeof path, "%.*s/librankwise_%s_%s.so", directory, self.dli_fname,
                          rw_shim.of, names[library.flavour]);
    if (length < 0 || (size_t)length >= sizeof path)
        return "the recorder's path is too long";
    void *recorder = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!recorder)
        return dlerror();
    rw_attach_function *attach = (rw_attach_function *)(uintptr_t)dlsym(recorder, RW_ATTACH_SYMBOL);
    return attach ? attach(RW_ATTACH_VERSION, &library, slots) : "the recorder is of another version";
}

/* Returns 0 when the slots are filled, -1 when no MPI library is loaded. */
static COLD int resolve(const void *caller) {
    int expected = UNRESOLVED;
    while (
        !__atomic_compare_exchange_n(&state, &expected, RESOLVING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (expected == RESOLVED)
            return 0;
        expected = UNRESOLVED;
        sched_yield();
    }
    if (rw_find_mpi(caller, &library) != 0) {
        __atomic_store_n(&state, UNRESOLVED, __ATOMIC_RELEASE);
        return -1;
    }
    rw_function get_version = library.next[RW_PMPI][RW_CALL_Get_library_version];
    int length = 0;
    if (get_version)
        ((int (*)(char *, int *))get_version)(version_text, &length);
    library.version = version_text;
    const char *directory = getenv(rw_shim.variable), *trouble = NULL;
    if (directory && directory[0])
        trouble = attach_recorder();
    if (trouble)
        complain("rankwise: `%s` %s: %s\n", library.path, rw_shim.not_done, trouble);
    if (trouble || !directory || !directory[0])
        fill_slots_with_the_library();
    __atomic_store_n(&state, RESOLVED, __ATOMIC_RELEASE);
    return 0;
}

/*
 * A function that the process's MPI does not have. Without the shim the loader would have ended the process
 * with these words; a program that merely asks whether MPI is there (weak symbols, dlsym) calls
 * MPI_Initialized.
 */
static intptr_t nothing(void) {
    return 0;
}
static COLD rw_function missing(int call, const char *name, intptr_t first) {
    if (state != RESOLVED && (call == RW_CALL_Initialized || call == RW_CALL_Finalized)) {
        *(int *)first = 0;
        return (rw_function)nothing;
    }
    dprintf(STDERR_FILENO, "%s: symbol lookup error: undefined symbol: %s\n", program_invocation_name, name);
    _exit(127);
}

#define JUMP(entry, call, parameters)                                                                        \
    ((intptr_t (*)(RW_NEUTRAL_TYPES_##parameters))__atomic_load_n(&slots[entry][call], __ATOMIC_RELAXED))(   \
        RW_NEUTRAL_ARGUMENTS_##parameters)

/* What to continue with, of a function that was called before the library was looked for. */
static COLD rw_function resolved(int entry, int call, const char *name, rw_function cold, intptr_t first,
                                 const void *caller) {
    resolve(caller);
    if (slots[entry][call] == cold)
        return missing(call, name, first);
    return __atomic_load_n(&slots[entry][call], __ATOMIC_RELAXED);
}

#define COLD_STUB(prefix, entry, name, call, parameters)                                                     \
    static COLD intptr_t cold_##prefix##name(RW_NEUTRAL_PARAMETERS_##parameters) {                           \
        const intptr_t given[] = {0, RW_NEUTRAL_ARGUMENTS_##parameters};                                     \
        rw_function const next =                                                                             \
            resolved(entry, call, #prefix #name, (rw_function)cold_##prefix##name,                           \
                     given[sizeof given / sizeof *given > 1], __builtin_return_address(0));                  \
        return ((intptr_t (*)(RW_NEUTRAL_TYPES_##parameters))next)(RW_NEUTRAL_ARGUMENTS_##parameters);       \
    }
#define COLD_STUBS(name, call, base, large, parameters)                                                      \
    COLD_STUB(MPI_, RW_MPI, name, call, parameters)                                                          \
    COLD_STUB(PMPI_, RW_PMPI, name, call, parameters)
RW_CALLS(COLD_STUBS)

/*
 * MPI_X@RANKWISE_1, the library's first version and not a default one: the loader binds calls of MPI_X to it
 * (a reference without version takes the oldest definition), but dlsym does not find it. Programs that ask
 * with dlsym which MPI is there, and what it can do (mpi4py), get the answer they would get without the shim.
 */
#define ENTRY_POINT(name, call, base, large, parameters)                                                     \
    EXPORT intptr_t rw_MPI_##name(RW_NEUTRAL_PARAMETERS_##parameters) {                                      \
        return JUMP(RW_MPI, call, parameters);                                                               \
    }                                                                                                        \
    EXPORT intptr_t rw_PMPI_##name(RW_NEUTRAL_PARAMETERS_##parameters) {                                     \
        return JUMP(RW_PMPI, call, parameters);                                                              \
    }                                                                                                        \
    __asm__(".symver rw_MPI_" #name ", MPI_" #name "@RANKWISE_1");                                           \
    __asm__(".symver rw_PMPI_" #name ", PMPI_" #name "@RANKWISE_1");
RW_CALLS(ENTRY_POINT)

#define COLD_MPI(name, call, base, large, parameters) (rw_function) cold_MPI_##name,
#define COLD_PMPI(name, call, base, large, parameters) (rw_function) cold_PMPI_##name,
static rw_function slots[RW_ENTRIES][RW_CALL_COUNT] = {{RW_CALLS(COLD_MPI)}, {RW_CALLS(COLD_PMPI)}};

/*
 * Before any object that is loaded later (Python extension modules) can be bound to names that its MPI does
 * not have, they are hidden. `rankwise record` says in RANKWISE_MPI which library that will be; the one that
 * is already there counts more. If neither is known, or nothing shall be recorded, all are hidden.
 */
__attribute__((constructor)) static void hide_missing(void) {
    const char *directory = getenv(rw_shim.variable), *path = NULL;
    if (directory && directory[0]) {
        path = rw_loaded_mpi();
        if (!path)
            path = getenv("RANKWISE_MPI");
    }
    rw_hide_missing(slots, path);
}
