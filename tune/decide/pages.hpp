// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "decide/proposal.hpp"

namespace rankwise::tune {

/// @brief Ranks whose pages had better be on the NUMA node of their cores, as iteration_time says: the one
/// that takes longest, as long as its pages are elsewhere. What is gained is less what moving costs.
///
/// @param[in] goes_on how long the job is taken to go on
std::optional<Proposal> decide_pages(const Observation &observation, const Node &node, const PuSet &allowed,
                                     Seconds goes_on);

/// @brief Ranks that wait for one memory spread over NUMA nodes: they go with their pages, as what they move
/// goes to where these are. None where Memories are not known.
///
/// The search is that of `decide`; what is gained is less what moving pages costs.
/// @param[in] worth as of `decide`
std::optional<Proposal> decide_spread(const Observation &observation, const Node &node, const PuSet &allowed,
                                      double worth, Seconds goes_on);

} // namespace rankwise::tune
