// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/node_partition.hpp"

#include <algorithm>
#include <unordered_map>

namespace rankwise::collectives {

NodePartition::NodePartition(std::span<const std::uint32_t> node) {
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t rank = 0; rank < node.size(); ++rank) {
        const auto [found, is_new] =
            numbers.try_emplace(node[rank], static_cast<std::uint32_t>(leaders_.size()));
        if (is_new) {
            leaders_.push_back(rank);
            members_.emplace_back();
        }
        number_.push_back(found->second);
        members_[found->second].push_back(rank);
    }
}

bool NodePartition::is_consecutive() const {
    return std::is_sorted(number_.begin(), number_.end());
}

bool NodePartition::is_even() const {
    return std::all_of(members_.begin(), members_.end(),
                       [&](const auto &node) { return node.size() == members_.front().size(); });
}

} // namespace rankwise::collectives
