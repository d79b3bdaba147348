// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/interface.hpp"

namespace rankwise::machine {

/// How the switches of a network are connected.
enum class Shape : std::uint8_t { none, fat_tree, torus, dragonfly };

/// @brief The switches between the nodes, and the way of a message through them.
///
/// Ways are computed, not kept: a network takes as much memory as its description. A *port* is one direction
/// of one cable between two switches; the cable between a node and its switch is the node's interface.
/// formats/machine.md has the shapes, formats/loggops.md M11 how messages pass the ports.
class Network {
  public:
    /// Fat tree: below[l] are the parts below a switch of level l + 1, above[l] the switches above one of
    /// level l + 1, cables[l] the cables to each of these.
    static Network fat_tree(std::vector<std::uint32_t> below, std::vector<std::uint32_t> above,
                            std::vector<std::uint32_t> cables);
    /// Torus of routers with as many nodes each.
    static Network torus(std::vector<std::uint32_t> dimensions, std::uint32_t nodes_per_router);
    /// Groups of routers that are all connected, and as many cables to other groups at each router.
    static Network dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t nodes_per_router,
                             std::uint32_t global_links);

    Shape shape() const noexcept { return shape_; }
    bool empty() const noexcept { return shape_ == Shape::none; }

    std::uint32_t slots() const noexcept { return slots_; } ///< where nodes can be
    /// @return how many of the machine's nodes have one
    std::size_t nodes() const noexcept { return slot_of.empty() ? slots_ : slot_of.size(); }
    std::uint32_t ports() const noexcept { return ports_; }
    std::uint32_t kinds() const noexcept { return kinds_; } ///< of cables, see kind_of()

    /// @brief The ports that a message passes from a node to another, in their order.
    /// @param[in]  from, to nodes; none are passed if they are at one switch
    /// @param[out] way      replaced
    void way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const;

    /// @return how many ports that are: one less than the switches
    std::uint32_t hops(std::uint32_t from, std::uint32_t to) const;

    /// @brief What a port's cable is: fat tree, above which level (from 0); torus, in which dimension;
    /// dragonfly, 0 inside a group and 1 between groups.
    std::uint32_t kind_of(std::uint32_t port) const;

    /// @return for people: "switch 3 of level 1, up 2", "router 5, dimension 2 +", "group 1 router 0, global
    /// 3"
    std::string describe(std::uint32_t port) const;

    bool operator==(const Network &) const = default;

    std::vector<std::uint32_t> slot_of; ///< of each node; empty: node n is in slot n
    Picoseconds hop = 0;                ///< latency of each switch after the first
    std::vector<Interface> cost;        ///< of each kind of cable

  private:
    std::uint32_t slot(std::uint32_t node) const { return slot_of.empty() ? node : slot_of[node]; }
    void fat_tree_way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const;
    void torus_way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const;
    void dragonfly_way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const;
    /// Steps in a dimension of a torus, negative for the other way round.
    static std::int64_t shortest(std::uint32_t from, std::uint32_t to, std::uint32_t size);
    std::uint32_t global_port(std::uint32_t group, std::uint32_t other, std::uint32_t round) const;

    Shape shape_ = Shape::none;
    std::uint32_t slots_ = 0, ports_ = 0, kinds_ = 0;

    /// A level of switches of a fat tree.
    struct Level {
        std::uint32_t below, above, cables; ///< cables: to each switch above
        std::uint32_t nodes;                ///< below one switch
        std::uint32_t twins;                ///< switches with the same nodes below
        std::uint32_t switches;
        std::uint32_t first_up, first_down; ///< ports: of all switches, of the cables above this level
        bool operator==(const Level &) const = default;
    };
    std::vector<Level> levels_;
    std::vector<std::uint32_t> dimensions_;
    std::uint32_t nodes_per_router_ = 1;
    std::uint32_t groups_ = 0, routers_ = 0, global_links_ = 0;
};

} // namespace rankwise::machine
