/* SPDX-License-Identifier: BSD-3-Clause */
/* The group of each window, asked for when the window is first used. */
#ifndef RANKWISE_RECORD_WINDOWS_H
#define RANKWISE_RECORD_WINDOWS_H

#include "handles/communicators.h"

/** @brief World ranks of a window's group; an empty group if the library does not say. */
RW_HIDDEN const struct rw_group *rw_window_group(MPI_Win win);

/** @brief Forget the handle, which the library will use again. */
RW_HIDDEN void rw_window_freed(MPI_Win win);

#endif
