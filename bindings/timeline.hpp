// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include "explain/timeline.hpp"
#include "large_array.hpp"
#include "schedule/step.hpp"

/// @brief What a replay did at what time, as numpy columns.
///
/// One entry an operation: `rank`, `kind`, `bytes` (0 of a computation), `partner` (4294967295 for none), and
/// `ready`, `begin`, `end`, `arrives` in picoseconds. One entry a gap: `gap_op`, `gap_from`, `gap_to`.
///
/// @param[in] steps those that were replayed
nanobind::dict timeline_columns(const rankwise::LargeArray<rankwise::replay::Step> &steps,
                                const rankwise::replay::Timeline &timeline);
