/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers of the light mode that need no MPI's types: over a thousand, compiled once for all ABIs. */
#include "tune/wrapper.h"

#define PLAIN(name, call, base, large, parameters)                                                           \
    WRAPPERS(name, call, parameters, parameters, RW_WAITS_##name, (void)0)
RW_CALLS(PLAIN)

#define PLAIN_MPI(name, call, base, large, parameters) (rw_function) mpi_##name,
#define PLAIN_PMPI(name, call, base, large, parameters) (rw_function) pmpi_##name,
const rw_function rw_tune_plain[RW_ENTRIES][RW_CALL_COUNT] = {{RW_CALLS(PLAIN_MPI)}, {RW_CALLS(PLAIN_PMPI)}};
