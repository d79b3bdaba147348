// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "placement/load_norm.hpp"
#include "placement/problem.hpp"

namespace rankwise::placement {

/// @brief How long ranks compute on the slots they have: what a core loses to interrupts and others, what two
/// hardware threads of a core cost each other, and memory that is elsewhere.
///
/// A LoadNorm of, for each rank, its computation by the capability of its slot, and for each core with
/// several ranks, all they compute by what such a core does more than one with a single rank. Two ranks that
/// exchange large messages wait for each other's computation as far as their cores are unequal (out of phase:
/// Narayanaswamy, Balaji & Feng, 2007, section 6): the slower one's load is so much larger.
class ProcessorLoads {
  public:
    /// @pre `loads.capability` has an entry a slot, `loads.computation` one a rank; they outlive this
    ProcessorLoads(const Loads &loads, const Placement &placement);

    double value(double change = 0) const noexcept { return norm_.value(change); }

    /// @return what the powers change by if the ranks on two slots changed places
    double swap_change(const Placement &placement, Slot a, Slot b) const noexcept;

    /// Carry the swap out. @pre the placement is as before it
    void swap(const Placement &placement, Slot a, Slot b) noexcept;

  private:
    double computation(Rank rank) const noexcept;
    double load(Rank rank, Slot slot) const noexcept;
    /// What the powers have more because two ranks on these slots run out of phase.
    double out_of_phase(Rank x, Slot of_x, Rank y, Slot of_y) const noexcept;
    double phase_change(const Placement &placement, Rank rank, Slot from, Slot to,
                        Rank partner) const noexcept;
    std::int32_t core_of(Slot slot) const noexcept;
    /// The change of a core's load that has so much more computation and so many more ranks.
    double core_change(std::int32_t core, double more, int ranks) const noexcept;

    const Loads &loads_;
    LoadNorm norm_;
    std::vector<double> core_; ///< computation of all ranks on a core
    std::vector<int> ranks_on_core_;
};

} // namespace rankwise::placement
