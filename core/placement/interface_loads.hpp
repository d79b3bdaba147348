// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "placement/load_norm.hpp"
#include "placement/problem.hpp"

namespace rankwise::placement {

/// @brief How long the interfaces of nodes that have several of them are busy, and what a swap changes of
/// that.
///
/// Interfaces that ranks of one slot share evenly are one group; each has its share of what they send and
/// receive.
class InterfaceLoads {
  public:
    /// @pre all but `placement` outlive it, and it is always asked about that placement as it is then
    InterfaceLoads(const Hierarchy &hierarchy, const CommMatrix &matrix, const Loads &loads,
                   const Placement &placement);

    /// @return the norm of the loads of all interfaces, tx and rx apart, in seconds
    double value(double change = 0) const noexcept { return norm_.value(change); }

    /// @return the load of the busiest, one direction
    double busiest() const noexcept;

    /// @return what the norm's sum changes by if the ranks on slots a and b (either may be empty) change
    /// places
    double swap_change(const Placement &placement, Slot a, Slot b) noexcept;

    /// Carry the swap out.
    void swap(const Placement &placement, Slot a, Slot b) noexcept;

  private:
    struct Load {
        double out = 0, in = 0;
    };
    struct Change {
        std::size_t group;
        Load more;
    };

    std::size_t group_of(Slot slot) const noexcept {
        return static_cast<std::size_t>(loads_.interface[static_cast<std::size_t>(slot)]);
    }
    void find_changes(const Placement &placement, Slot a, Slot b) noexcept;
    void move(const Placement &placement, Rank rank, Slot from, Slot to, Rank partner) noexcept;
    void add(Slot slot, double out, double in) noexcept;
    double change(std::size_t group, const Load &more) const noexcept;

    const Hierarchy &hierarchy_;
    const CommMatrix &matrix_;
    const Loads &loads_;
    std::vector<Load> load_;      ///< of each interface of a group
    std::vector<Change> changes_; ///< of the swap that is looked at: of a few groups
    LoadNorm norm_;
};

} // namespace rankwise::placement
