// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rankwise::placement {

using Rank = std::int32_t;
using Slot = std::int32_t;
inline constexpr Rank no_rank = -1;

/// @brief The slots ranks may take, each a core or some, and the tree of what they share.
///
/// `groups` has `levels` ids a slot, widest first (node, package, ..., core); ids need only differ between
/// siblings' children of one parent. Two slots are `level` apart if they agree on exactly their first `level`
/// ids: 0 is different nodes, `levels` is the same core.
struct Hierarchy {
    std::int32_t levels = 0;
    std::vector<std::int32_t> groups;
    std::vector<std::int32_t> node; ///< dense node number of each slot, for the load of its interface

    Slot count() const noexcept { return static_cast<Slot>(node.size()); }

    /// @return how many levels two slots have in common
    std::int32_t level(Slot a, Slot b) const noexcept {
        const auto *x = &groups[static_cast<std::size_t>(a) * static_cast<std::size_t>(levels)];
        const auto *y = &groups[static_cast<std::size_t>(b) * static_cast<std::size_t>(levels)];
        std::int32_t common = 0;
        while (common < levels && x[common] == y[common])
            ++common;
        return common;
    }
};

/// @brief Who talks to whom, and what that costs at each level: both directions of a pair in one entry a
/// side.
///
/// Neighbours of rank r are entries `offsets[r] .. offsets[r+1]`; entry e costs `cost[e * (levels + 1) +
/// level]` seconds (its messages' LogGOPS time on the channel of that level), and occupies the interfaces for
/// `nic_out[e]` and `nic_in[e]` seconds if the pair is on different nodes (out and in as seen from r).
struct CommMatrix {
    Rank ranks = 0;
    std::vector<std::int64_t> offsets;
    std::vector<Rank> neighbour;
    std::vector<float> cost;
    std::vector<float> nic_out;
    std::vector<float> nic_in;
};

/// @brief What ranks share besides the network interface of each node; a part that is empty costs nothing.
struct Loads {
    /// Of each slot, the interfaces that a rank there uses, as a number unique over nodes; empty: one a node.
    std::vector<std::int32_t> interface;
    std::vector<double>
        interface_share;              ///< of each of these: what each of its interfaces has of its messages
    std::vector<std::int32_t> memory; ///< of each slot, its memory as a number unique over nodes; -1 for none
    std::vector<double> demand;       ///< of each rank, seconds in which its bytes alone would fill a memory
    std::vector<Slot>
        interrupt_core;       ///< of each node, the slot that does the node's protocol work; -1 for none
    std::vector<double> busy; ///< of each rank, the share of its time in which it does not wait
    double interrupts = 0;    ///< seconds of protocol work by second of an interface, tx and rx
    /// Of each slot, the part of its core's time and clock that ranks have; empty: all of it, and no term for
    /// computation.
    std::vector<double> capability;
    std::vector<double> computation; ///< of each rank, seconds on a core that it has to itself
    std::vector<std::int32_t> core;  ///< of each slot, its core as a number; empty: no two slots share one
    double core_yield = 1;           ///< what a core with several ranks computes by what it does with one
    std::vector<std::int32_t> home;  ///< of each rank, the memory that has its pages; -1 for none
    /// Of each rank, those with which it exchanges messages so large that neither gets on alone; empty: none.
    std::vector<std::vector<Rank>> in_step;
    double away = 0; ///< by how much of itself computation takes longer whose pages are elsewhere
};

/// @brief Rank -> slot, and its inverse.
struct Placement {
    std::vector<Slot> slot;
    std::vector<Rank> rank; ///< no_rank where a slot is empty
};

/// @param[in] slot one slot a rank
/// @throws Error if a slot does not exist or is taken twice
Placement make_placement(std::span<const Slot> slot, Slot count);

} // namespace rankwise::placement
