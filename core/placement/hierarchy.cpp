// SPDX-License-Identifier: BSD-3-Clause
#include "placement/hierarchy.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "error.hpp"
#include "placement/paths.hpp"

namespace rankwise::placement {

Slots uniform_slots(std::span<const std::int32_t> arity) {
    std::int64_t count = 1;
    for (const auto parts : arity) {
        if (parts < 1)
            throw Error("a hierarchy has `" + std::to_string(parts) + "` parts at a level",
                        "each level has 1 or more");
        count *= parts;
        if (count > std::numeric_limits<Slot>::max() / 2)
            throw Error("the hierarchy has more than `1073741823` cores");
    }
    Slots slots;
    slots.levels = static_cast<std::int32_t>(arity.size());
    slots.groups.resize(static_cast<std::size_t>(count) * arity.size());
    slots.node.resize(static_cast<std::size_t>(count));
    for (std::int64_t slot = 0; slot < count; ++slot) {
        std::int64_t size = 1;
        // Level `levels` is the core itself, then come what holds arity[0] of them, and so on.
        for (std::size_t level = arity.size(); level-- > 0;) {
            slots.groups[static_cast<std::size_t>(slot) * arity.size() + level] =
                static_cast<std::int32_t>(slot / size);
            size *= arity[arity.size() - 1 - level];
        }
        slots.node[static_cast<std::size_t>(slot)] =
            slots.groups[static_cast<std::size_t>(slot) * arity.size()];
    }
    return slots;
}

std::vector<Slot> blocks_of(const Slots &slots, std::int32_t level) {
    std::vector<Slot> starts;
    for (Slot slot = 0; slot < slots.count(); ++slot)
        if (slot == 0 || slots.level(slot - 1, slot) < level)
            starts.push_back(slot);
    starts.push_back(slots.count());
    return starts;
}

MappingCost mapping_cost(const Graph &graph, const Slots &slots, const Distances &distances,
                         std::span<const Slot> slot) {
    MappingCost cost;
    const auto nodes = slots.node.empty() ? 0 : *std::max_element(slots.node.begin(), slots.node.end()) + 1;
    cost.node_weight.assign(static_cast<std::size_t>(nodes), 0);
    const Paths paths(slots, distances);
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
        cost.node_weight[slots.node[slot[v]]] += crossing;
    }
    if (nodes > 0)
        cost.busiest = *std::max_element(cost.node_weight.begin(), cost.node_weight.end());
    return cost;
}

} // namespace rankwise::placement
