/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_SETTER_H
#define RANKWISE_RECORD_SETTER_H

#include "process/affinity.h"

extern struct rw_mask_setter rw_shim_setter __attribute__((visibility("hidden")));

#endif
