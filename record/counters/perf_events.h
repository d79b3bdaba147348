/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_PERF_EVENTS_H
#define RANKWISE_RECORD_PERF_EVENTS_H

#include <linux/perf_event.h>

/**
 * @brief Find the event of a name: perf's own (`task-clock`, `LLC-load-misses`), `rNNN`, `l2-misses` where
 * the raw code of this processor is known, else one of libpfm4's, if libpfm.so.4 is there.
 * @return NULL, or why there is none
 */
__attribute__((visibility("hidden"))) const char *rw_perf_event(const char *name,
                                                                struct perf_event_attr *event);

#endif
