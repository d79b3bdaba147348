// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "error.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief Why a replay stopped before its end.
/// @param[in] done    for each operation, whether it has ended
/// @param[in] posted  for each operation, whether it has begun
/// @param[in] partner from `Matching` or as met so far
/// @return an error that names a circle of operations and ranks, or an operation that nobody answers
Error deadlock(const Schedule &schedule, const std::vector<std::uint8_t> &done,
               const std::vector<std::uint8_t> &posted, const std::vector<std::uint32_t> &partner);

} // namespace rankwise::replay
