/* SPDX-License-Identifier: BSD-3-Clause */
#include "process/complain.h"

#include <stdio.h>
#include <unistd.h>

void rw_complain(const char *what, const char *why, const char *where) {
    static int said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        dprintf(STDERR_FILENO, "rankwise: %s%s (`%s`)\n", what, why, where);
}
