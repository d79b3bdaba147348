// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/node_partition.hpp"
#include "error.hpp"
#include "schedule/communicators.hpp"

namespace rankwise::replay {

/// @brief Which members of each communicator share a node: what node-aware algorithms of collectives go by.
class CommunicatorNodes {
  public:
    /// @param[in] node of each world rank, only which are equal matters; empty: not known
    /// @throws Error a communicator has members that have no node
    CommunicatorNodes(const Communicators &communicators, std::span<const std::uint32_t> node) {
        for (const Communicator &each : communicators.all()) {
            if (node.empty())
                break;
            std::vector<std::uint32_t> of_members;
            for (const std::uint32_t member : each.members) {
                if (member >= node.size())
                    throw Error("nodes of `" + std::to_string(node.size()) + "` ranks, but there is rank `" +
                                std::to_string(member) + "`");
                of_members.push_back(node[member]);
            }
            partitions_.emplace_back(of_members);
        }
    }

    /// @return null if it is not known
    const collectives::NodePartition *find(const Communicator &communicator) const {
        return partitions_.empty() ? nullptr : &partitions_[communicator.number];
    }

  private:
    std::vector<collectives::NodePartition> partitions_; ///< by number of the communicator
};

} // namespace rankwise::replay
