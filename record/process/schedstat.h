/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SCHEDSTAT_H
#define RANKWISE_RECORD_SCHEDSTAT_H

#include <stdint.h>

/** @brief Run time and run-queue wait of the calling thread, in ns; @return 0, or -1 where the kernel does
 * not say. */
__attribute__((visibility("hidden"))) int rw_read_schedstat(uint64_t *cpu_ns, uint64_t *wait_ns);

#endif
