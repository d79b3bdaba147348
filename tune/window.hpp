// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "group.hpp"
#include "tuner.hpp"

namespace rankwise::tune {

/// @brief A window is ended after so long at the latest, where iterations are known.
constexpr Seconds longest_window = 20;

/// @brief Whether what lies between a group's base and a sample is long enough to decide on.
/// @param[in] own  its part of the sample
/// @param[in] part of that: 2 for a half
/// @pre the group has a base
bool is_window(const Group &group, const Sample &own, const std::string &name, const Policy &policy,
               std::uint64_t part);

/// @brief Take a sample for the middle of a group's window once half of it is over.
void note_middle(Group &group, const Sample &own, const std::string &name, const Policy &policy);

/// @return why a trial could not measure what was seen between two samples; empty if it could
std::string too_long(const Group &group, const Sample &before, const Sample &after, const std::string &name,
                     const Policy &policy);

/// @return whether the ranks did in the first half what they did not in the second; not known, and false, of
/// ranks that may have changed places between them
bool has_two_phases(const Group &group, const Sample &base, const Sample &middle, const Sample &own,
                    const std::string &name);

} // namespace rankwise::tune
