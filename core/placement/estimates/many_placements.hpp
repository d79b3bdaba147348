// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "placement/estimates/estimate_program.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief What estimates placements in the order that one placement's replay has.
/// @throws Error as `replay_on_machine`
EstimateProgram estimate_program_of(const Schedule &schedule, const Matching &matching,
                                    const machine::Machine &machine, const machine::Placement &placement);

/// @brief About the makespan of each placement, by estimate passes.
/// @param[in] machine that of the program
/// @param[in] threads as `makespans`
std::vector<Picoseconds> estimate(const EstimateProgram &program, const machine::Machine &machine,
                                  std::span<const machine::Placement> placements, unsigned threads);

/// @brief Estimates placements in the order that the first one's replay has, and keeps what it worked out for
/// that: calls that begin with the same placement on the same machine go straight to the passes. Where
/// sends ended without their receives in that replay, all placements are replayed.
class Estimates {
  public:
    /// @param[in] schedule, matching the same at all calls
    /// @param[in] threads as `makespans`
    /// @throws Error as `replay_on_machine`, of the first placement
    std::vector<Picoseconds> operator()(const Schedule &schedule, const Matching &matching,
                                        const machine::Machine &machine,
                                        std::span<const machine::Placement> placements, unsigned threads);

  private:
    struct Kept {
        machine::Machine machine;
        machine::Placement first;
        EstimateProgram program;
    };
    std::shared_ptr<const Kept> program_of(const Schedule &schedule, const Matching &matching,
                                           const machine::Machine &machine, const machine::Placement &first);

    std::mutex mutex_;
    std::shared_ptr<const Kept> kept_; ///< of the last call
};

} // namespace rankwise::replay
