// SPDX-License-Identifier: BSD-3-Clause
#include "placement/mapping_cost.hpp"

#include <algorithm>

#include "placement/paths.hpp"

namespace rankwise::placement {

MappingCost mapping_cost(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
                         std::span<const Slot> slot) {
    MappingCost cost;
    const auto nodes =
        hierarchy.node.empty() ? 0 : *std::max_element(hierarchy.node.begin(), hierarchy.node.end()) + 1;
    cost.node_weight.assign(static_cast<std::size_t>(nodes), 0);
    const Paths paths(hierarchy, distances);
    std::vector<Path> path(slot.size());
    for (std::size_t v = 0; v < slot.size(); ++v)
        path[v] = paths.of(slot[v]);
    for (Rank v = 0; v < graph.vertices(); ++v) {
        double crossing = 0;
        for (auto e = graph.begin(v); e < graph.end(v); ++e) {
            const Path other = path[graph.neighbour[e]];
            const auto weight = static_cast<double>(graph.weight[e]);
            if (graph.neighbour[e] > v)
                cost.total += weight * paths.distance(path[v], other);
            if (paths.level(path[v], other) == 0)
                crossing += weight;
        }
        cost.node_weight[hierarchy.node[slot[v]]] += crossing;
    }
    if (nodes > 0)
        cost.busiest = *std::max_element(cost.node_weight.begin(), cost.node_weight.end());
    return cost;
}

} // namespace rankwise::placement
