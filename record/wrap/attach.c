/* SPDX-License-Identifier: BSD-3-Clause */
#include "process/attach.h"
#include "thread/current.h"

#include <string.h>

#include "counters/sources.h"
#include "network/network.h"
#include "process/abi.h"
#include "process/process.h"

/* Defined with their own types in the wrap_*.c files. */
#define DECLARE(name, call, base, large, parameters)                                                         \
    extern void rw_mpi_##name(void) RW_HIDDEN;                                                               \
    extern void rw_pmpi_##name(void) RW_HIDDEN;
RW_CALLS(DECLARE)

#define WRAPPER_MPI(name, call, base, large, parameters) rw_mpi_##name,
#define WRAPPER_PMPI(name, call, base, large, parameters) rw_pmpi_##name,
static const rw_function wrappers[RW_ENTRIES][RW_CALL_COUNT] = {{RW_CALLS(WRAPPER_MPI)},
                                                                {RW_CALLS(WRAPPER_PMPI)}};

__attribute__((visibility("default"))) rw_attach_function rankwise_record_attach;

const char *rankwise_record_attach(uint32_t version, const struct rw_library *library,
                                   rw_function slots[RW_ENTRIES][RW_CALL_COUNT]) {
    if (version != RW_ATTACH_VERSION || library->flavour != RW_FLAVOUR)
        return "the recorder is of another version";
    const char *missing = rw_abi_open(library->handle);
    if (missing)
        return missing;
    memcpy(rw_next, library->next, sizeof rw_next);
    rw_process_prepare(library);
    rw_network_prepare(library->network);
    rw_where_prepare(library->setter);
    rw_threads_prepare();
    for (int entry = 0; entry < RW_ENTRIES; entry++)
        for (int call = 0; call < RW_CALL_COUNT; call++)
            if (rw_next[entry][call])
                __atomic_store_n(&slots[entry][call], wrappers[entry][call], __ATOMIC_RELEASE);
    return 0;
}
