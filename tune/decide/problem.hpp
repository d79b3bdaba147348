// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "decide/memories.hpp"
#include "decide/observation.hpp"
#include "placement/problem.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief An Observation as `place` sees a program: slots, who talks to whom, and what ranks load.
struct Problem {
    std::vector<PuSet> slots;             ///< as many units each as a rank has
    std::vector<placement::Slot> current; ///< of each rank; where it ran last if ranks are not bound
    bool bound = true;                    ///< ranks have masks that are narrower than the job's set
    bool shared = false;                  ///< and several have the same
    std::vector<bool> stays;              ///< of each rank, whether it must
    std::vector<std::vector<placement::Slot>> impossible; ///< of each rank: what is not to be proposed
    int busy_threads = 1;                                 ///< of the rank that has most
    /// Its `node` is a number for each width of slots, and for each rank that must stay: ranks stay on
    /// theirs.
    placement::Hierarchy hierarchy;
    placement::CommMatrix matrix;
    placement::Loads loads;
    Memories memories;                  ///< what ranks ask of those of the node
    std::vector<NumaPages> taken_along; ///< of each rank, its pages, which follow where they may; empty: they
                                        ///< stay where they are
    std::string refused;                ///< why there is none
};

/// @brief Levels that two slots may have in common, widest first, and what `Node::links` is in the order of.
enum Level { network, node, package, numa, l3, l2, core, levels };

Problem make_problem(const Observation &observation, const Node &node, const PuSet &allowed);

/// @brief What ranks get of the processing units of each slot, in the mean of a slot's: others and interrupts
/// may use the cores' other hardware threads as well.
/// @param[in] busy_threads of the rank that has most; a slot's cores are each used by one before by two
std::vector<double> capabilities(const Observation &observation, const Node &node,
                                 const std::vector<PuSet> &slots, int busy_threads);

/// @return the NUMA node that has a rank's pages if it is on a slot; -1 where that is not known
std::int32_t home_of(const Problem &problem, std::size_t rank, placement::Slot slot);

/// @brief Seconds of an iteration by second of one as it is, and the rank that takes them.
struct IterationTime {
    double seconds = 0;
    placement::Rank rank = placement::no_rank;
};

/// @brief What the rank takes that takes longest: what it computes, by ProcessorLoads' model, and exchanges.
///
/// placement::TimeEstimate has norms and means, which a search can follow; the more ranks there are, the less
/// one of them counts there.
/// @param[in] enough once a rank takes as long, no more are looked at
IterationTime iteration_time(const Problem &problem, const std::vector<placement::Slot> &slots,
                             double enough = std::numeric_limits<double>::infinity());

/// @return `rank 3`, or `process 4711` where no page says which
std::string name_of(const RankLoad &rank);

} // namespace rankwise::tune
