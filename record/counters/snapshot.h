/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SNAPSHOT_H
#define RANKWISE_RECORD_SNAPSHOT_H

/**
 * @brief Write raw/HOST.NODE.RUN + suffix: interrupts by line and CPU, which CPUs serve which queues of
 * network interfaces, counters of interfaces. Two of them, at the start and the end, are read later; until
 * the end has come, one that was taken meanwhile stands for it.
 * @param meanwhile whether the ranks go on
 */
__attribute__((visibility("hidden"))) void rw_snapshot(const char *suffix, int meanwhile);

#endif
