// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decide/observation.hpp"
#include "placement/problem.hpp"
#include "types.hpp"

namespace rankwise::tune {

struct Problem;

/// @brief A mapping: the processing units of each rank, in the order of an Observation's ranks.
using Mapping = std::vector<PuSet>;

struct Proposal {
    Change change;
    Mapping mapping;                 ///< that it leads to
    double gain = 0;                 ///< part of the time that is saved, as estimated
    std::vector<std::int32_t> ranks; ///< that it moves, as world ranks
    std::string why;
};

/// @brief What the best mapping would be, or why none is looked for.
struct Decision {
    std::optional<Proposal> proposal; ///< the best there is, however little it gains
    std::string refused;              ///< a sentence
};

/// @brief Looks for a better mapping, in this order:
/// - of bound ranks: the exchange of two ranks' places, or one move, that shortens an iteration most;
/// - if ranks are not bound, or no exchange is worth it: several exchanges, one after the other. The search
///   begins with that of `place` (placement::refine);
/// - of few ranks: the best of several such searches, from several mappings. Every other one does without
///   placement::refine.
///
/// Ranks change places only with those that have as many processing units. What is gained is told by
/// iteration_time. placement::TimeEstimate of the last window leads placement::refine, decides between
/// exchanges that gain as much, and says which of many ranks' pairs is tried: what pairs exchange at the
/// level they have in common, what ranks compute by the capability of their cores, cores with several ranks,
/// pages that stay behind.
///
/// @param[in] allowed the group's processing units: all that its ranks had at first
/// @param[in] worth a single exchange is proposed if it gains so much
/// @param[in] impossible what could not be carried out: the best of the others is proposed
Decision decide(const Observation &observation, const Node &node, const PuSet &allowed, double worth,
                const std::vector<Mapping> &impossible = {});

/// @brief Where ranks had better be: the exchange or move that shortens an iteration most, or, where none is
/// worth much, what the search ends at.
std::vector<placement::Slot> better_slots(const Problem &problem, double worth);

Mapping mapping_of(const Problem &problem, const std::vector<placement::Slot> &slots);

/// @brief The part of an iteration that is saved. Where ranks take less than the whole of it, all wait for
/// something else the rest of the time.
double gain_of(double before, double after);

/// @return `12 %`
std::string percent(double share);

/// @return `0,1,2`
std::string list_text(const PuSet &pus);

/// @brief The exchange that leads from one mapping to another.
Change change_to(const Observation &observation, const Mapping &mapping);

} // namespace rankwise::tune
