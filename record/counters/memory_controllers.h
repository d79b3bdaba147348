/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What memory controllers read and write, of all programs: PMUs with events for that in
 * /sys/bus/event_source/devices (Documentation/ABI/testing/sysfs-bus-event_source-devices-events of Linux).
 * The recorder samples them, and the tuner looks at them.
 */
#ifndef RANKWISE_RECORD_MEMORY_CONTROLLERS_H
#define RANKWISE_RECORD_MEMORY_CONTROLLERS_H

#include <linux/perf_event.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RW_CONTROLLER_HIDDEN __attribute__((visibility("hidden")))

struct rw_controller_event {
    struct perf_event_attr attr;
    double bytes; /* of a count */
    int cpu;      /* that stands for its socket */
    unsigned way; /* 0: read, 1: written */
};

/**
 * @brief Find the events.
 * @param[in] devices directory of the PMUs
 * @param[out] events the first `most` of them
 * @param[out] unknown whether it is not known how to count some, or what a count of them is:
 * all others together are too few
 * @return how many there are; -1 if the directory cannot be read, as errno says
 */
RW_CONTROLLER_HIDDEN int rw_find_controller_events(const char *devices, struct rw_controller_event *events,
                                                   unsigned most, int *unknown);

/** @brief Begin to count, for which the kernel asks rights (perf_event_paranoid). @return a file, or -1 */
RW_CONTROLLER_HIDDEN int rw_open_controller_event(const struct rw_controller_event *event);

/**
 * @brief Read what was counted since it was opened; where counters take turns, it is estimated from their
 * part.
 * @param[out] bytes added to
 * @return whether it is known
 */
RW_CONTROLLER_HIDDEN int rw_read_controller_event(const struct rw_controller_event *event, int file,
                                                  double *bytes);

#ifdef __cplusplus
}
#endif

#endif
