// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "placement/problem.hpp"

namespace rankwise::placement {

/// @brief A quick stand-in for predicted time, with the change of a swap in time proportional to two ranks' neighbours.
///
///   J = (sum over pairs of LogGOPS cost at their level) / ranks  +  (sum over interfaces of load^p)^(1/p),  p = 8
///
/// The first term is the communication time of the mean rank, the second is close to the load in seconds of the
/// busiest network interface (tx and rx are counted apart), but, unlike the maximum, feels every step down.
class Surrogate {
  public:
    /// @pre the assignment fits the slots and the traffic, which must both outlive the surrogate
    Surrogate(const Slots &slots, const Traffic &traffic, Assignment assignment);

    /// @return J in seconds
    double value() const noexcept;

    /// @return the load of the busiest interface in seconds, one direction
    double busiest_interface() const noexcept;

    /// @return the change of J if the ranks on slots a and b (either may be empty) changed places
    double swap_change(Slot a, Slot b) const noexcept;

    /// Carry the swap out.
    void swap(Slot a, Slot b) noexcept;

    const Assignment &assignment() const noexcept { return assignment_; }

  private:
    struct Change {
        double cost = 0;
        // Loads of the nodes of slots a and b; no other node's load changes, because a pair with a third node
        // crosses the network before and after.
        double out_a = 0, in_a = 0, out_b = 0, in_b = 0;
    };

    Change change(Slot a, Slot b) const noexcept;
    void move(Rank rank, Slot from, Slot to, Rank partner, bool from_is_a, Change &change) const noexcept;
    double interface_term(double power_sum) const noexcept;
    double power_sum_change(Slot a, Slot b, const Change &change) const noexcept;

    const Slots &slots_;
    const Traffic &traffic_;
    Assignment assignment_;
    std::vector<double> out_, in_; // seconds, by node
    double cost_ = 0;
    double power_sum_ = 0;
    double scale_ = 1; // keeps load^p within range
};

} // namespace rankwise::placement
