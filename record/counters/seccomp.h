/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SECCOMP_H
#define RANKWISE_RECORD_SECCOMP_H

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Why perf_event_open must not be called; NULL where it may be, which says not that it is allowed. */
__attribute__((visibility("hidden"))) const char *rw_perf_kills(void);

#ifdef __cplusplus
}
#endif

#endif
