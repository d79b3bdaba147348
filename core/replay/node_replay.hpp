// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/prediction.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief The plain machine model, node after node in windows of time: the same times as those of one queue
/// of events, a few times faster.
///
/// @return nothing if it cannot be done so: see `lookahead`
/// @throws Error deadlock, with the ranks and operations in the circle
std::optional<Prediction> replay_by_node(const Schedule &schedule, const Matching &matching,
                                         const machine::Machine &machine,
                                         const machine::Placement &placement);

} // namespace rankwise::replay
