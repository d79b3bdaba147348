/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_COMPLAIN_H
#define RANKWISE_RECORD_COMPLAIN_H

/** @brief The one line the recorder may write: `rankwise: WHAT WHY (`WHERE`)` on stderr. */
__attribute__((visibility("hidden"))) void rw_complain(const char *what, const char *why, const char *where);

#endif
