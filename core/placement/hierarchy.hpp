// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "placement/graph.hpp"

namespace rankwise::placement {

/// @brief What a unit of weight costs between two slots: by how many levels they share, 0 is different nodes.
struct Distances {
    std::vector<double> of_level; ///< `levels` entries, and 0 for a slot to itself
};

/// @brief The slots of a machine whose blocks are all alike.
///
/// @param[in] arity how many parts a block of each level has, smallest blocks first: cores, ..., nodes
/// @throws Error if there are none, one is below 1, or there are more than 2^31 slots
Hierarchy uniform_hierarchy(std::span<const std::int32_t> arity);

/// @brief The first slots of all blocks of a level (1 is nodes), and the number of slots.
std::vector<Slot> blocks_of(const Hierarchy &hierarchy, std::int32_t level);

} // namespace rankwise::placement
