// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/proposal.hpp"

namespace rankwise::tune {

/// @brief What a group's changes are looked for in.
struct Scope {
    const Node &node;
    const PuSet &allowed;                   ///< the group's processing units
    double worth;                           ///< a gain below it, and what the change costs, is none
    Seconds goes_on;                        ///< how long the job is taken to go on
    const std::vector<Mapping> &impossible; ///< that could not be carried out
};

/// @brief Interrupts that may be moved.
struct FreeInterrupts {
    PuSet units;                  ///< that no rank of any group has
    std::set<std::int32_t> fixed; ///< that are not to be moved
};

/// @brief Changes of every kind: ranks, pages, interrupts.
struct Candidates {
    std::vector<Proposal> worthwhile; ///< the best one first
    bool has_others = false;          ///< there are some that are not worth it
    std::string refused;              ///< why no other mapping is looked for; a sentence
};

/// @param[in] interrupts nothing: they are left alone
Candidates find_candidates(const Observation &observation, const Scope &scope,
                           const std::optional<FreeInterrupts> &interrupts);

/// @brief A proposal that moves pages, by where they are now: samples have what was seen before.
/// @param[in] pages_by_numa System::pages_by_numa
/// @return none if it is not worth it then
std::optional<Proposal> seen_anew(Observation observation, const Scope &scope, Proposal proposal,
                                  const std::function<NumaPages(const TaskId &)> &pages_by_numa);

} // namespace rankwise::tune
