// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <unordered_set>

#include "machine/machine.hpp"

namespace rankwise::replay {

/// @brief Which ranks have dealt with a message of which others: M13 of formats/loggops.md.
///
/// Kept by rank, not by pair, so that a rank's jobs do not depend on what others do at the same time.
class Contacts {
  public:
    /// @brief A job of o or o_r begins.
    /// @param[in] connect what the first one takes longer
    /// @return how much longer it takes
    machine::Picoseconds begin(std::uint32_t rank, std::uint32_t peer, machine::Picoseconds connect) {
        if (connect == 0 || !known_.insert(std::uint64_t{rank} << 32 | peer).second)
            return 0;
        return connect;
    }

  private:
    std::unordered_set<std::uint64_t> known_; ///< rank and peer
};

} // namespace rankwise::replay
