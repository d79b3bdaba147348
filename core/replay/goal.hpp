// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief Read a schedule in GOAL text (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP
/// 2009).
///
/// The grammar is in formats/loggops.md. A `calc` counts nanoseconds.
///
/// @param[in] text the file
/// @param[in] name for messages
/// @throws Error what is wrong, with the line
Schedule read_goal(std::string_view text, const std::string &name);

/// @brief Write a schedule as GOAL text; every operation gets the label `l` and its number in its rank.
///
/// Computation is rounded to whole nanoseconds.
std::string write_goal(const Schedule &schedule);

} // namespace rankwise::replay
