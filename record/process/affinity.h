/* SPDX-License-Identifier: BSD-3-Clause */
/* Who set the cores that the first thread may use: what the shim sees, for the recorder. */
#ifndef RANKWISE_RECORD_AFFINITY_H
#define RANKWISE_RECORD_AFFINITY_H

#include <stdint.h>

struct rw_mask_setter {
    const void *caller; /* return address of the last call that succeeded */
    uint64_t calls;     /* how many did */
};

#endif
