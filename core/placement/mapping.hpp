// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "placement/mappers/grids.hpp"
#include "placement/mappers/multisection.hpp"
#include "placement/mapping_cost.hpp"

namespace rankwise::placement {

struct MapOptions {
    std::uint64_t seed = 1;
    bool until_stopped = false; ///< go on with other seeds until `stop` says so
    bool never_busier = false;  ///< no sum is worth a busier node than the best of the known placements has
    Extents grid;               ///< of the vertices, if it is known
    std::vector<std::vector<Slot>> given; ///< slots of placements to be no worse than
    Stop stop = nullptr;
    std::function<void(const std::string &name, const MappingCost &best)> progress = nullptr;
};

/// @brief A placement that was tried.
struct Mapped {
    std::string name; ///< blocked, cyclic, given, tiles, strips, multisection; `refined` if it was improved
    std::vector<Slot> slot;
    MappingCost cost;
};

/// @brief Ranks on slots, one each, with a small sum of weight x distance.
///
/// The result is never worse than blocked, cyclic and the given placements. Its busiest node is no busier
/// than that of the best of these, unless that saves more than a hundredth of the sum and is not forbidden.
/// The same seed gives the same result unless it is stopped.
///
/// @param[in] arity of the machine if its blocks are alike, smallest first; empty if not
/// @return blocked, cyclic, the given ones, and last the best
/// @throws Error if there are more ranks than slots
std::vector<Mapped> map_graph(const Graph &graph, const Hierarchy &hierarchy,
                              std::span<const std::int32_t> arity, const Distances &distances,
                              const MapOptions &options);

} // namespace rankwise::placement
