// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief What each rank does, as a number that does not depend on what ranks are called.
///
/// Colour refinement (Weisfeiler & Lehman, 1968) of the graph of ranks and messages: ranks that do the same
/// with others that do the same, and so on for some rounds, get the same number.
///
/// @param[in] steps  of the schedule, matched
/// @param[in] seed   what else tells ranks apart
/// @param[in] rounds how far apart, in messages, what tells two ranks apart may be
std::vector<std::uint64_t> rank_hashes(const Schedule &schedule, const LargeArray<MatchedOperation> &steps,
                                       std::span<const std::uint64_t> seed, unsigned rounds);

/// @brief The same program with its ranks called otherwise.
///
/// Events of one time are served by rank, so this is another order of ties and nothing else: each rank's own
/// operations keep their order, which is the program's.
///
/// @param[in] position new number of each rank
/// @throws Error it is no permutation
std::pair<Schedule, Matching> renumbered(const Schedule &schedule, const Matching &matching,
                                         std::span<const std::uint32_t> position);

} // namespace rankwise::replay
