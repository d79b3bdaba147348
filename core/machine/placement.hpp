// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankwise::machine {

struct Machine;

/// Where the ranks are, and which link class connects two places.
struct Placement {
    std::vector<std::uint32_t> node;  ///< of each rank
    std::vector<std::uint32_t> place; ///< of each rank, within its node: a core, or a set of cores it may use
    std::uint32_t places = 1;         ///< of a node
    std::vector<std::uint32_t> processor; ///< what each rank computes on; ranks with the same number share it
    std::vector<std::uint32_t> capacity;  ///< of each processor: how many ranks run on it at full speed
    std::vector<std::uint8_t>
        place_link; ///< link class between places a and b of one node at [a * places + b]
    std::uint8_t network_link = 0;
    std::uint8_t detour_link =
        0; ///< of messages with one end far from its interface, the next both; 0: none has
    std::vector<std::uint8_t> is_detour; ///< of each rank: its interface is far from it
    std::vector<std::uint32_t>
        interface; ///< of each rank: of all nodes' interfaces; empty: each node has one
    std::uint8_t self_link = 0;
    std::vector<std::vector<std::uint32_t>>
        domain; ///< for each of `Machine::bandwidths`: of each rank the one that its core uses, or `none`
    std::vector<double> memory_bound; ///< of each rank: part of its computation alone that waits for memory
    std::vector<std::uint32_t> interrupt_core; ///< of each node; nodes of one host can have the same
    std::vector<std::uint32_t>
        interrupt_processor;       ///< of each interrupt core: what it computes on, or `none`
    std::vector<std::uint8_t> far; ///< of each rank: whether its core is far from its interrupt core

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    std::uint8_t link(std::uint32_t a, std::uint32_t b) const {
        if (a == b)
            return self_link;
        if (node[a] != node[b])
            return detour_link == 0 ? network_link : link_between(is_detour[a] + is_detour[b]);
        return place_link[place[a] * places + place[b]];
    }
    /// @return the interface of each rank among those of all nodes, which come node after node
    const std::vector<std::uint32_t> &interfaces() const { return interface.empty() ? node : interface; }
    std::uint32_t nodes() const { return node.empty() ? 0 : *std::max_element(node.begin(), node.end()) + 1; }
    bool operator==(const Placement &) const = default;

    /// @brief Check that a replay of so many ranks on a machine can index with it.
    /// @throws Error it cannot
    void check(const Machine &machine, std::size_t ranks) const;

    /// @brief The same ranks in another order.
    /// @param[in] position new number of each rank; a permutation
    Placement in_order(std::span<const std::uint32_t> position) const;

  private:
    std::uint8_t link_between(int detours) const {
        return detours == 0 ? network_link : static_cast<std::uint8_t>(detour_link + detours - 1);
    }
};

} // namespace rankwise::machine
