// SPDX-License-Identifier: BSD-3-Clause
#include "placement/problem.hpp"

#include "error.hpp"

namespace rankwise::placement {

Placement make_placement(std::span<const Slot> slot, Slot count) {
    Placement placement{{slot.begin(), slot.end()},
                        std::vector<Rank>(static_cast<std::size_t>(count), no_rank)};
    for (std::size_t rank = 0; rank < slot.size(); ++rank) {
        if (slot[rank] < 0 || slot[rank] >= count)
            throw Error("rank `" + std::to_string(rank) + "` is placed on core `" +
                        std::to_string(slot[rank]) + "`, but there are `" + std::to_string(count) +
                        "` cores");
        Rank &owner = placement.rank[static_cast<std::size_t>(slot[rank])];
        if (owner != no_rank)
            throw Error("ranks `" + std::to_string(owner) + "` and `" + std::to_string(rank) +
                        "` are placed on the same core");
        owner = static_cast<Rank>(rank);
    }
    return placement;
}

} // namespace rankwise::placement
