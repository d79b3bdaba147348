// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/interface_loads.hpp"
#include "placement/load_norm.hpp"
#include "placement/problem.hpp"
#include "placement/processor_loads.hpp"

namespace rankwise::placement {

/// @brief What a placement's time comes to, without a replay; the change of a swap takes time proportional to
/// two ranks' neighbours.
///
///   J = (sum over pairs of LogGOPS cost at their level) / ranks  +  interfaces  +  memories  +  interrupt
///   cores  +  processors
///
/// The first term is the communication time of the mean rank; each of the others is a LoadNorm of loads in
/// seconds: of network interfaces (tx and rx apart), of memories by what their ranks demand, and of interrupt
/// cores by the node's protocol work as far as the rank there has something else to do, so that a rank that
/// waits is the best to be there (Narayanaswamy, Balaji & Feng, 2007). Where capabilities of cores are known,
/// processors are ProcessorLoads, and a pair's messages cost as long as the slower of its two cores takes:
/// two that are unequal run out of phase (the same paper, section 6).
class TimeEstimate {
  public:
    /// @pre the placement fits the hierarchy and the matrix; these and the loads must outlive the estimate
    TimeEstimate(const Hierarchy &hierarchy, const CommMatrix &matrix, const Loads &loads,
                 Placement placement);

    /// @return J in seconds
    double value() const noexcept;

    /// @return the load of the busiest interface in seconds, one direction
    double busiest_interface() const noexcept;

    /// @return the change of J if the ranks on slots a and b (either may be empty) changed places
    double swap_change(Slot a, Slot b) const noexcept;

    /// Carry the swap out.
    void swap(Slot a, Slot b) noexcept;

    /// @return the slot that does the protocol work of a slot's node; the slot itself if there is none
    Slot interrupt_core_of(Slot slot) const noexcept {
        if (loads_.interrupt_core.empty())
            return slot;
        const Slot core =
            loads_.interrupt_core[static_cast<std::size_t>(hierarchy_.node[static_cast<std::size_t>(slot)])];
        return core < 0 ? slot : core;
    }

    const Placement &placement() const noexcept { return placement_; }

  private:
    struct Change {
        double cost = 0;
        // Loads of the nodes of slots a and b; no other node's load changes, because a pair with a third node
        // crosses the network before and after.
        double out_a = 0, in_a = 0, out_b = 0, in_b = 0;
    };

    /// What the powers of all loads change by.
    struct Powers {
        double interfaces = 0, memories = 0, interrupts = 0, processors = 0;
    };

    Change change(Slot a, Slot b) const noexcept;
    Powers powers(Slot a, Slot b, const Change &change) const noexcept;
    void move(Rank rank, Slot from, Slot to, Rank partner, bool from_is_a, Change &change) const noexcept;
    double demand(Rank rank) const noexcept;
    double slower(Slot a, Slot b) const noexcept;
    double interrupts(std::int32_t node, Rank rank, double more) const noexcept;

    const Hierarchy &hierarchy_;
    const CommMatrix &matrix_;
    const Loads &loads_;
    Placement placement_;
    std::vector<double> out_, in_; // seconds, by node
    std::vector<double> memory_;   // seconds, by memory
    double cost_ = 0;
    LoadNorm interfaces_, memories_, interrupts_;
    /// Instead of `interfaces_`, where nodes have several; keeps room for the swap that it is asked about.
    mutable std::optional<InterfaceLoads> several_;
    std::optional<ProcessorLoads> processors_;
};

} // namespace rankwise::placement
