// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "placement/hierarchy.hpp"
#include "placement/mappers/bisection.hpp"

namespace rankwise::placement {

/// @brief Asked now and then; true ends a search.
using Stop = std::function<bool()>;

/// @brief Cut a graph along a machine: among the nodes, each node's part among its packages, down to the
/// cores.
///
/// Blocks need not be alike; each gets as many ranks as it has slots, or fewer where slots are left over. No
/// more nodes are used than are needed.
///
/// @param[in] tries first cuts of the smallest graph of each bisection
/// @return the slot of each rank; empty if it was stopped
std::vector<Slot> multisect(const Graph &graph, const Hierarchy &hierarchy, Random &random,
                            std::int32_t tries, const Stop &stop);

/// @brief The same inside each block of a level: which ranks it has stays.
/// @param[in,out] slot of each rank
/// @param[in] redo whether a block is cut anew; empty for all
void arrange_inside(const Graph &graph, const Hierarchy &hierarchy, std::int32_t level,
                    std::vector<Slot> &slot, std::span<const std::uint8_t> redo, Random &random,
                    std::int32_t tries);

/// @brief Move ranks between pairs of nodes that talk to each other while less weight crosses between nodes.
///
/// Two nodes at a time are a graph of their own, whose cut is improved. Slots inside nodes are given in rank
/// order.
///
/// @param[in] rounds at most over all pairs
/// @param[in] work   edges looked at, at most, as a multiple of all
/// @return which nodes changed
std::vector<std::uint8_t> exchange(const Graph &graph, const Hierarchy &hierarchy, std::vector<Slot> &slot,
                                   std::int32_t rounds, double work, const Stop &stop);

} // namespace rankwise::placement
