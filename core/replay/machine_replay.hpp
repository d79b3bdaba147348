// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "explain/timeline.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "placement/screen/screen_program.hpp"
#include "replay/prediction.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"
#include "schedule/windows/trace_window.hpp"

namespace rankwise::replay {

/// @brief Replay on a machine: a LinkClass for each pair of ranks, and what they share.
///
/// Section "On a machine" of formats/loggops.md. Wildcard receives take the messages that they take under
/// plain LogGOPS with the network's parameters (a recording has none: there they are those that the program
/// received).
///
/// @throws Error deadlock, with the ranks and operations in the circle
Prediction replay_on_machine(const Schedule &schedule, const Matching &matching,
                             const machine::Machine &machine, const machine::Placement &placement);

/// @brief As above, and
/// @param[out] timeline when and why each operation began
Prediction replay_on_machine(const Schedule &schedule, const Matching &matching,
                             const machine::Machine &machine, const machine::Placement &placement,
                             Timeline &timeline);

/// @brief As above, and
/// @param[out] order in which everything was done; at first empty
Prediction replay_on_machine(const Schedule &schedule, const Matching &matching,
                             const machine::Machine &machine, const machine::Placement &placement,
                             ServiceOrder &order);

/// @brief The schedule with each computation as long as it would have been alone, if `schedule` was recorded
/// on this machine with this placement.
///
/// A replay in which computation lasts as long as it did, whoever computes beside it, shows at each moment by
/// how much others slowed it. So a replay of the result with the same placement is the recorded one again.
///
/// @throws Error as above
Schedule computing_alone(const Schedule &schedule, const Matching &matching, machine::Machine machine,
                         const machine::Placement &placement);

/// @brief Replay a traced run in windows; the outcome is that of the whole schedule.
/// @param[in,out] window at its beginning; afterwards at its end
Prediction replay_on_machine(TraceWindow &window, const machine::Machine &machine,
                             const machine::Placement &placement);

/// @return the steps that the replay of a schedule with wildcards takes
LargeArray<Step> steps_on_machine(const Schedule &schedule, const Matching &matching,
                                  const machine::Machine &machine, const machine::Placement &placement);

} // namespace rankwise::replay
