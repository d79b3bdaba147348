// SPDX-License-Identifier: BSD-3-Clause
#include "placement/hierarchy.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "error.hpp"

namespace rankwise::placement {

Hierarchy uniform_hierarchy(std::span<const std::int32_t> arity) {
    std::int64_t count = 1;
    for (const auto parts : arity) {
        if (parts < 1)
            throw Error("a hierarchy has `" + std::to_string(parts) + "` parts at a level",
                        "each level has 1 or more");
        count *= parts;
        if (count > std::numeric_limits<Slot>::max() / 2)
            throw Error("the hierarchy has more than `1073741823` cores");
    }
    Hierarchy hierarchy;
    hierarchy.levels = static_cast<std::int32_t>(arity.size());
    hierarchy.groups.resize(static_cast<std::size_t>(count) * arity.size());
    hierarchy.node.resize(static_cast<std::size_t>(count));
    for (std::int64_t slot = 0; slot < count; ++slot) {
        std::int64_t size = 1;
        // Level `levels` is the core itself, then come what holds arity[0] of them, and so on.
        for (std::size_t level = arity.size(); level-- > 0;) {
            hierarchy.groups[static_cast<std::size_t>(slot) * arity.size() + level] =
                static_cast<std::int32_t>(slot / size);
            size *= arity[arity.size() - 1 - level];
        }
        hierarchy.node[static_cast<std::size_t>(slot)] =
            hierarchy.groups[static_cast<std::size_t>(slot) * arity.size()];
    }
    return hierarchy;
}

std::vector<Slot> blocks_of(const Hierarchy &hierarchy, std::int32_t level) {
    std::vector<Slot> starts;
    for (Slot slot = 0; slot < hierarchy.count(); ++slot)
        if (slot == 0 || hierarchy.level(slot - 1, slot) < level)
            starts.push_back(slot);
    starts.push_back(hierarchy.count());
    return starts;
}

} // namespace rankwise::placement
