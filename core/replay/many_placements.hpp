// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "replay/matching.hpp"
#include "replay/schedule.hpp"
#include "replay/screen_program.hpp"

namespace rankwise::replay {

/// @brief The makespan of each placement, by a replay of each; placements are spread over threads.
/// @param[in] threads 0: as many as the process may use cores
/// @throws Error as `replay_on_machine`, of the first placement that has one
std::vector<Picoseconds> makespans(const Schedule &schedule, const Matching &matching,
                                   const machine::Machine &machine, std::span<const machine::Layout> layouts,
                                   unsigned threads);

/// @brief What screens placements in the order that one placement's replay has.
/// @throws Error as `replay_on_machine`
ScreenProgram screen_program_of(const Schedule &schedule, const Matching &matching,
                                const machine::Machine &machine, const machine::Layout &layout);

/// @brief About the makespan of each placement, by static passes.
/// @param[in] machine that of the program
/// @param[in] threads as `makespans`
std::vector<Picoseconds> screen(const ScreenProgram &program, const machine::Machine &machine,
                                std::span<const machine::Layout> layouts, unsigned threads);

/// @brief About the makespan of each placement, by static passes in the order that the first one's replay
/// has.
/// @param[in] threads as `makespans`
/// @throws Error as `replay_on_machine`, of the first placement
std::vector<Picoseconds> screen_by_first(const Schedule &schedule, const Matching &matching,
                                         const machine::Machine &machine,
                                         std::span<const machine::Layout> layouts, unsigned threads);

} // namespace rankwise::replay
