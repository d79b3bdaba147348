// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "placement/hierarchy.hpp"

namespace rankwise::placement {

/// @brief The sum of weight x distance, and what crosses the interfaces.
struct MappingCost {
    double total = 0;                ///< over edges
    double busiest = 0;              ///< most weight between one node and all others
    std::vector<double> node_weight; ///< weight between each node and all others
};

/// @pre a slot for each vertex
MappingCost mapping_cost(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
                         std::span<const Slot> slot);

} // namespace rankwise::placement
