// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <set>
#include <vector>

#include "decide/proposal.hpp"

namespace rankwise::tune {

/// @brief Interrupts of devices that are better served by another unit than by that of a rank which computes,
/// as iteration_time says: each with its best unit, the one that gains most first. Units without a rank are
/// in question, too, where nobody else is busy; those that are kept from what others do are not.
///
/// @param[in] free of any rank of the node
/// @param[in] left lines that are not to be moved
std::vector<Proposal> decide_interrupts(const Observation &observation, const Node &node,
                                        const PuSet &allowed, const PuSet &free,
                                        const std::set<std::int32_t> &left);

} // namespace rankwise::tune
