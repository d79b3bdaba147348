// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "placement/hierarchy.hpp"
#include "placement/mappers/multisection.hpp"

namespace rankwise::placement {

struct SwapOptions {
    std::int32_t rounds = 8; ///< over all ranks at most
    double most_on_node =
        -1;             ///< weight between a node and all others that no swap may go beyond; below 0: any
    double work = 1e18; ///< edges looked at, at most, as a multiple of all
    Stop stop = nullptr;
    std::uint32_t every =
        1;                 ///< start with about one rank in this many; others follow if their neighbours move
    bool thorough = false; ///< try all blocks that neighbours are in, not only those of the most weight
};

/// @brief Swap ranks (or move them to empty slots) while the sum of weight x distance gets less.
///
/// Each rank looks at the blocks its neighbours are in, smallest first, and changes places with whichever
/// rank there gains most, both ranks' distances counted. A change costs as long as the neighbours of two
/// ranks are many.
///
/// @param[in,out] slot of each rank
/// @return number of swaps made
std::int64_t swap_in_blocks(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
                            std::vector<Slot> &slot, const SwapOptions &options);

} // namespace rankwise::placement
