// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

#include "replay/schedule.hpp"
#include "replay/timeline.hpp"

/// @brief A schedule and what a replay did with it at what time, as numpy columns.
///
/// One entry an operation: `rank`, `kind`, `peer`, `bytes` (of a computation its picoseconds), `partner`, `released_by`,
/// `after` (operations, 4294967295 for none), and `ready`, `begin`, `end`, `sent`, `on_link`, `on_tx`, `at_rx`, `on_rx`,
/// `arrives` in picoseconds. One entry a gap: `gap_op`, `gap_from`, `gap_to`.
nanobind::dict timeline_columns(const rankwise::replay::Schedule &schedule,
                                const std::vector<std::uint32_t> &partner,
                                const rankwise::replay::Timeline &timeline);
