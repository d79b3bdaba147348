/* SPDX-License-Identifier: BSD-3-Clause */
/* What code behind the shim has in common that needs no MPI's headers: it is compiled once for all ABIs. */
#ifndef RANKWISE_RECORD_NEXT_H
#define RANKWISE_RECORD_NEXT_H

#include <stdint.h>

#include "process/attach.h"

#define RW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define RW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define RW_HIDDEN __attribute__((visibility("hidden")))

/* The functions behind the shim, filled once by rankwise_record_attach. */
extern rw_function rw_next[RW_ENTRIES][RW_CALL_COUNT] RW_HIDDEN;

/* The library's own function, for the recorder's local queries: RW_PMPI_CALL(Comm_rank, MPI_Comm, int
 * *)(comm, &rank). */
#define RW_PMPI_CALL(name, ...) ((int (*)(__VA_ARGS__))rw_next[RW_PMPI][RW_CALL_##name])
#define RW_HAS(name) (rw_next[RW_PMPI][RW_CALL_##name] != 0)

#endif
