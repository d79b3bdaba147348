// SPDX-License-Identifier: BSD-3-Clause
#include "machine/network.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "error.hpp"

namespace rankwise::machine {
namespace {

/// Ports and slots are numbered in 32 bits; a message's way is kept whole while it is under way.
std::uint32_t checked(std::uint64_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max() / 2)
        throw Error("a network of `" + std::to_string(count) + "` slots or ports is too large",
                    "describe the part that the program runs on");
    return static_cast<std::uint32_t>(count);
}

std::string text(std::uint32_t number) {
    return std::to_string(number);
}

} // namespace

// Fat tree

Network Network::fat_tree(std::vector<std::uint32_t> below, std::vector<std::uint32_t> above,
                          std::vector<std::uint32_t> cables) {
    Network network;
    network.shape_ = Shape::fat_tree;
    network.kinds_ = static_cast<std::uint32_t>(below.size()) - 1;
    std::uint64_t nodes = 1, twins = 1, ports = 0;
    for (std::size_t l = 0; l < below.size(); ++l) {
        nodes *= below[l];
        const bool is_top = l + 1 == below.size();
        network.levels_.push_back({below[l], is_top ? 0 : above[l], is_top ? 0 : cables[l], checked(nodes),
                                   checked(twins), 0, 0, 0});
        twins *= is_top ? 1 : above[l];
    }
    network.slots_ = checked(nodes);
    for (Level &level : network.levels_) {
        level.switches = checked(nodes / level.nodes * level.twins);
        const std::uint64_t cables_up = std::uint64_t{level.switches} * level.above * level.cables;
        level.first_up = checked(ports);
        level.first_down = checked(ports + cables_up);
        ports += 2 * cables_up;
    }
    network.ports_ = checked(ports);
    return network;
}

/// Switches of a level are numbered by the nodes below them, then among those that have the same (twins). The
/// switches above number u of a subtree's are u + twins c for c below `above`. Up by the destination:
/// D-mod-k, Zahavi, Johnson, Kerbyson, Lang, Optimized InfiniBand fat-tree routing for shift all-to-all
/// communication patterns, Concurrency Computat. Pract. Exper. 22 (2010), 217-231: of the up ports of level l
/// that is number floor(D / (w_1 ... w_l)) mod (w_l+1 p_l+1), parents first. The way down is that up from the
/// destination, so all messages to a node come down through the same ports.
void Network::fat_tree_way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const {
    std::size_t top = 0;
    while (from / levels_[top].nodes != to / levels_[top].nodes)
        ++top;
    way.resize(2 * top);
    std::uint32_t twin = 0;
    for (std::size_t l = 0; l < top; ++l) {
        const Level &level = levels_[l];
        const std::uint32_t ups = level.above * level.cables, up = to / level.twins % ups;
        const std::uint32_t here = from / level.nodes * level.twins + twin,
                            there = to / level.nodes * level.twins + twin;
        way[l] = level.first_up + here * ups + up;
        way[2 * top - 1 - l] = level.first_down + there * ups + up;
        twin += level.twins * (up % level.above);
    }
}

// Torus

Network Network::torus(std::vector<std::uint32_t> dimensions, std::uint32_t nodes_per_router) {
    Network network;
    network.shape_ = Shape::torus;
    std::uint64_t routers = 1;
    for (const std::uint32_t size : dimensions)
        routers = checked(routers * size);
    network.kinds_ = static_cast<std::uint32_t>(dimensions.size());
    network.slots_ = checked(routers * nodes_per_router);
    network.ports_ = checked(routers * 2 * dimensions.size());
    network.dimensions_ = std::move(dimensions);
    network.nodes_per_router_ = nodes_per_router;
    return network;
}

std::int64_t Network::shortest(std::uint32_t from, std::uint32_t to, std::uint32_t size) {
    const std::uint32_t forward = to >= from ? to - from : to + size - from;
    return forward <= size / 2 ? std::int64_t{forward} : std::int64_t{forward} - size;
}

/// One dimension after the other, in each the shorter way round (Dally, Seitz: Deadlock-free message routing
/// in multiprocessor interconnection networks, IEEE Trans. Computers C-36 (1987), 547-553); half way round
/// goes up.
void Network::torus_way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const {
    std::uint32_t at = from / nodes_per_router_;
    const std::uint32_t goal = to / nodes_per_router_, directions = 2 * kinds_;
    std::uint32_t stride = 1;
    for (std::uint32_t d = 0; d < kinds_; ++d) {
        const std::uint32_t size = dimensions_[d];
        std::uint32_t place = at / stride % size;
        const std::int64_t steps = shortest(place, goal / stride % size, size);
        for (std::int64_t k = 0; k < std::abs(steps); ++k) {
            way.push_back(at * directions + 2 * d + (steps < 0));
            const std::uint32_t next = steps > 0 ? (place + 1) % size : (place + size - 1) % size;
            at = at - place * stride + next * stride;
            place = next;
        }
        stride *= size;
    }
}

// Dragonfly

Network Network::dragonfly(std::uint32_t groups, std::uint32_t routers, std::uint32_t nodes_per_router,
                           std::uint32_t global_links) {
    if (std::uint64_t{routers} * global_links + 1 < groups)
        throw Error("a group of `" + text(routers) + "` routers with `" + text(global_links) +
                        "` global links each reaches fewer than the `" + text(groups - 1) + "` other groups",
                    "routers times global_links is at least groups - 1");
    Network network;
    network.shape_ = Shape::dragonfly;
    network.kinds_ = 2;
    const std::uint64_t all = std::uint64_t{groups} * routers;
    network.slots_ = checked(checked(all) * std::uint64_t{nodes_per_router});
    network.ports_ = checked(all * (std::uint64_t{routers} + global_links));
    network.groups_ = groups;
    network.routers_ = routers;
    network.nodes_per_router_ = nodes_per_router;
    network.global_links_ = global_links;
    return network;
}

/// Number among a group's global cables: they go to the other groups in their order, round by round
/// ("absolute" arrangement of Hastings et al., Comparing global link arrangements for Dragonfly networks,
/// CLUSTER 2015).
std::uint32_t Network::global_port(std::uint32_t group, std::uint32_t other, std::uint32_t round) const {
    return round * (groups_ - 1) + (other < group ? other : other - 1);
}

/// The minimal way: to the router with the cable to the other group, over it, to the node's router (Kim,
/// Dally, Scott, Abts: Technology-driven, highly-scalable Dragonfly topology, ISCA 2008, section 4.1). Of
/// several cables between two groups, destinations take turns.
void Network::dragonfly_way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const {
    const std::uint32_t ports = routers_ + global_links_; // of a router: to those of its group, then global
    std::uint32_t at = from / nodes_per_router_;
    const std::uint32_t goal = to / nodes_per_router_;
    const auto local = [&](std::uint32_t router) {
        if (router != at)
            way.push_back(at * ports + router % routers_);
        at = router;
    };
    const std::uint32_t group = at / routers_, other = goal / routers_;
    if (group != other) {
        const std::uint32_t round = to % (routers_ * global_links_ / (groups_ - 1));
        const std::uint32_t out = global_port(group, other, round), in = global_port(other, group, round);
        local(group * routers_ + out / global_links_);
        way.push_back(at * ports + routers_ + out % global_links_);
        at = other * routers_ + in / global_links_;
    }
    local(goal);
}

// All shapes

void Network::way(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &way) const {
    way.clear();
    switch (shape_) {
    case Shape::none:
        break;
    case Shape::fat_tree:
        fat_tree_way(slot(from), slot(to), way);
        break;
    case Shape::torus:
        torus_way(slot(from), slot(to), way);
        break;
    case Shape::dragonfly:
        dragonfly_way(slot(from), slot(to), way);
        break;
    }
}

std::uint32_t Network::hops(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t a = slot(from), b = slot(to);
    if (shape_ == Shape::fat_tree) {
        std::uint32_t top = 0;
        while (a / levels_[top].nodes != b / levels_[top].nodes)
            ++top;
        return 2 * top;
    }
    if (shape_ == Shape::torus) { // ways can be long, their lengths are sums
        std::uint32_t one = a / nodes_per_router_, other = b / nodes_per_router_, count = 0;
        for (const std::uint32_t size : dimensions_) {
            count += static_cast<std::uint32_t>(std::abs(shortest(one % size, other % size, size)));
            one /= size;
            other /= size;
        }
        return count;
    }
    std::vector<std::uint32_t> ports;
    way(from, to, ports);
    return static_cast<std::uint32_t>(ports.size());
}

std::uint32_t Network::kind_of(std::uint32_t port) const {
    switch (shape_) {
    case Shape::fat_tree: {
        std::uint32_t level = 0;
        while (level + 1 < levels_.size() && port >= levels_[level + 1].first_up)
            ++level;
        return level;
    }
    case Shape::torus:
        return port % (2 * kinds_) / 2;
    case Shape::dragonfly:
        return port % (routers_ + global_links_) >= routers_;
    case Shape::none:
        break;
    }
    return 0;
}

std::string Network::describe(std::uint32_t port) const {
    const std::uint32_t kind = kind_of(port);
    switch (shape_) {
    case Shape::fat_tree: {
        const Level &level = levels_[kind];
        const std::uint32_t ups = level.above * level.cables;
        if (port < level.first_down) {
            const std::uint32_t number = port - level.first_up;
            return "switch " + text(number / ups) + " of level " + text(kind + 1) + ", up " +
                   text(number % ups);
        }
        // The other end of an up port: the switch above has below it one switch for each of its down ports.
        const std::uint32_t number = port - level.first_down, below = number / ups, up = number % ups;
        const Level &higher = levels_[kind + 1];
        const std::uint32_t subtree = below / level.twins;
        const std::uint32_t twin = below % level.twins + level.twins * (up % level.above);
        const std::uint32_t above = subtree / higher.below * higher.twins + twin;
        return "switch " + text(above) + " of level " + text(kind + 2) + ", down " +
               text(subtree % higher.below * level.cables + up / level.above);
    }
    case Shape::torus: {
        const std::uint32_t directions = 2 * kinds_;
        return "router " + text(port / directions) + ", dimension " + text(kind + 1) +
               (port % 2 == 0 ? " up" : " down");
    }
    case Shape::dragonfly: {
        const std::uint32_t ports = routers_ + global_links_, router = port / ports, at = port % ports;
        return "group " + text(router / routers_) + ", router " + text(router % routers_) +
               (kind == 0 ? ", to router " + text(at) : ", global " + text(at - routers_));
    }
    case Shape::none:
        break;
    }
    return "";
}

} // namespace rankwise::machine
