// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// GOAL's unit of time is the nanosecond.
constexpr Picoseconds picoseconds_per_nanosecond = 1000;

/// @brief Read a schedule in GOAL text (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP
/// 2009).
///
/// The grammar is in formats/goal.md. A `calc` counts nanoseconds.
///
/// @param[in] text the file
/// @param[in] name for messages
/// @throws Error what is wrong, with the line
Schedule read_goal(std::string_view text, const std::string &name);

/// @brief Write a schedule as GOAL text; every operation gets the label `l` and its number in its rank.
///
/// Computation is rounded to whole nanoseconds.
std::string write_goal(const Schedule &schedule);

/// @return whether data begins as binary GOAL does, usable or not
bool is_goal_binary(std::string_view data);

/// @brief Read binary GOAL, what LogGOPSim's `txt2bin` writes; its layout is in formats/goal.md.
///
/// @param[in] data the file
/// @param[in] name for messages
/// @throws Error what is wrong, with the byte
Schedule read_goal_binary(std::string_view data, const std::string &name);

/// @brief Write a schedule as binary GOAL. Computation is rounded to whole nanoseconds.
/// @throws Error the format cannot hold it
std::string write_goal_binary(const Schedule &schedule);

} // namespace rankwise::replay
