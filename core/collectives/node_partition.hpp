// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rankwise::collectives {

/// @brief Which ranks of a communicator share a node.
class NodePartition {
  public:
    /// @param[in] node of each rank; only which are equal matters
    explicit NodePartition(std::span<const std::uint32_t> node);

    /// @return ranks of the node of a rank, in order
    const std::vector<std::uint32_t> &neighbours(std::uint32_t rank) const { return members_[number_[rank]]; }
    /// @return the first rank of the node of a rank
    std::uint32_t leader(std::uint32_t rank) const { return neighbours(rank).front(); }
    /// @return the first rank of each node, in order
    const std::vector<std::uint32_t> &leaders() const { return leaders_; }
    /// @return whether all nodes have equally many ranks
    bool is_even() const;
    /// @return whether the ranks of each node follow each other
    bool is_consecutive() const;
    /// @return whether there is more than one node, and more than one rank on some node
    bool has_levels() const { return leaders_.size() > 1 && leaders_.size() < number_.size(); }

  private:
    std::vector<std::uint32_t> number_; ///< of each rank: its node, by first rank
    std::vector<std::vector<std::uint32_t>> members_;
    std::vector<std::uint32_t> leaders_;
};

} // namespace rankwise::collectives
