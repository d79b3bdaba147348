/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_LAB_USAGE_H
#define RANKWISE_LAB_USAGE_H

#include <stdint.h>

/** @brief This thread begins a look for messages now. */
void rw_count_look(int64_t now_ns);

/** @brief This thread has slept because a look found nothing. */
void rw_count_sleep(int64_t began_ns, int64_t ended_ns);

#endif
