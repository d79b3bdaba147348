// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "placement/estimates/estimate_program.hpp"

namespace rankwise::replay {

/// @brief Makespans of many placements at once, eight of them side by side in one pass without a queue.
///
/// Links, interfaces and processors serve in the order of the program, which some placement's replay had, and
/// not in the order of arrival under each placement; ranks on one core slow each other down for all of their
/// time; answers to a rendezvous do not wait for a receiver that computes; first messages between two ranks
/// cost what later ones do; memories, caches and interrupt cores hold up nobody. So this is an estimate,
/// which says which placements a replay should look at. For the placement that the order is from it errs by
/// these simplifications only.
///
/// @return of each placement
std::vector<Picoseconds> estimate_pass(const EstimateProgram &program, const machine::Machine &machine,
                                       std::span<const machine::Placement> placements);

} // namespace rankwise::replay
