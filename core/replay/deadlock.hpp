// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "error.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// @brief Sends that wait for their receives in circles: who lets them go, as if their messages were kept in
/// buffers, gets a replay by.
///
/// A program that polls receives in another order where messages come in another one. Its recording has only
/// the order of the recorded run, which can block for ever where a send waits that did not wait then.
///
/// @param[in] progress, partner as of `deadlock`
/// @return of all circles, in the order of their numbers
std::vector<std::uint32_t> waiting_sends(const Schedule &schedule, const Progress &progress,
                                         const std::vector<std::uint32_t> &partner);

/// @brief Why a replay stopped before its end.
/// @param[in] progress what has begun and ended
/// @param[in] partner  for each send its receive and the other way round, as far as it is known, else `any`
/// @return an error that names a circle of operations and ranks, or an operation that nobody answers
Error deadlock(const Schedule &schedule, const Progress &progress, const std::vector<std::uint32_t> &partner);

} // namespace rankwise::replay
