// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "error.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// @brief Why a replay stopped before its end.
/// @param[in] progress what has begun and ended
/// @param[in] partner  for each send its receive and the other way round, as far as it is known, else `any`
/// @return an error that names a circle of operations and ranks, or an operation that nobody answers
Error deadlock(const Schedule &schedule, const Progress &progress, const std::vector<std::uint32_t> &partner);

} // namespace rankwise::replay
