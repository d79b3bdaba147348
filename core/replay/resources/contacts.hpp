// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/machine.hpp"

namespace rankwise::replay {

/// @brief Which ranks have dealt with a message of which others: M13 of formats/loggops.md.
///
/// Kept by rank, not by pair, so that a rank's jobs do not depend on what others do at the same time.
class Contacts {
  public:
    /// @brief A job of o or o_r begins; a rank need not meet itself.
    /// @param[in] connect what the first one takes longer
    /// @return how much longer it takes
    machine::Picoseconds begin(std::uint32_t rank, std::uint32_t peer, machine::Picoseconds connect) {
        if (connect == 0 || rank == peer)
            return 0;
        if (rank >= met_.size())
            met_.resize(std::size_t{rank} + 1);
        return met_[rank].add(peer) ? connect : 0;
    }

  private:
    /// Most ranks have few others to deal with, which are found fastest one by one; those with many a bit for
    /// each.
    class Peers {
      public:
        /// @return whether it is new
        bool add(std::uint32_t peer) {
            if (!bits_.empty())
                return mark(peer);
            if (std::find(few_.begin(), few_.end(), peer) != few_.end())
                return false;
            few_.push_back(peer);
            if (few_.size() > most_listed) {
                for (const std::uint32_t known : few_)
                    mark(known);
                few_ = {};
            }
            return true;
        }

      private:
        static constexpr std::size_t most_listed = 24;

        bool mark(std::uint32_t peer) {
            const std::size_t word = peer / 64;
            const std::uint64_t bit = std::uint64_t{1} << peer % 64;
            if (word >= bits_.size())
                bits_.resize(word + 1);
            const bool is_new = !(bits_[word] & bit);
            bits_[word] |= bit;
            return is_new;
        }

        std::vector<std::uint32_t> few_;
        std::vector<std::uint64_t> bits_; ///< by peer, once there are many
    };

    std::vector<Peers> met_; ///< by rank
};

} // namespace rankwise::replay
