// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "large_array.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/observer.hpp"
#include "replay/prediction.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"
#include "schedule/windows/trace_window.hpp"

namespace rankwise::replay {

/// How a replay is done; the outcome is the same.
struct HowToReplay {
    unsigned threads = 1;         ///< that share the nodes; 0: as many as are worth it, see `useful_threads`
    Observer *observer = nullptr; ///< hears of everything, in one order over all nodes, from one thread
    bool in_one_order = false;    ///< as if somebody listened: tests compare
};

/// @brief Replay on a machine: a LinkClass for each pair of ranks, and what they share.
///
/// Follows formats/loggops.md rule by rule. Wildcard receives take the messages that they take under
/// plain LogGOPS with the network's parameters (a recording has none: there they are those that the program
/// received).
///
/// @throws Error deadlock, with the ranks and operations in the circle
Prediction replay_on_machine(const Schedule &schedule, const Matching &matching,
                             const machine::Machine &machine, const machine::Placement &placement,
                             const HowToReplay &how = {});

/// @brief The makespan of each placement, by a replay of each; placements are spread over threads.
/// @param[in] threads 0: as many as the process may use cores
/// @throws Error as `replay_on_machine`, of the first placement that has one
std::vector<Picoseconds> makespans(const Schedule &schedule, const Matching &matching,
                                   const machine::Machine &machine,
                                   std::span<const machine::Placement> placements, unsigned threads);

/// @brief Replay a traced run in windows; the outcome is that of the whole schedule.
/// @param[in,out] window at its beginning; afterwards at its end
/// @param[in] messages that the run has
Prediction replay_on_machine(TraceWindow &window, const MessageRange &messages,
                             const machine::Machine &machine, const machine::Placement &placement);

/// @brief The schedule with each computation as long as it would have been alone, if `schedule` was recorded
/// on this machine with this placement.
///
/// A replay in which computation lasts as long as it did, whoever computes beside it, shows at each moment by
/// how much others slowed it. So a replay of the result with the same placement is the recorded one again.
///
/// @throws Error as above
Schedule computing_alone(const Schedule &schedule, const Matching &matching, machine::Machine machine,
                         const machine::Placement &placement);

/// @return the steps that the replay of a schedule with wildcards takes
LargeArray<MatchedOperation> steps_on_machine(const Schedule &schedule, const Matching &matching,
                                              const machine::Machine &machine,
                                              const machine::Placement &placement);

} // namespace rankwise::replay
