// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <unordered_map>

namespace rankwise::replay {

/// Numbers for (communicator, tag), the same for all ranks: what an operation's tag is in the schedule.
class Tags {
  public:
    std::uint32_t number(std::uint32_t communicator, std::int32_t tag) {
        const std::uint64_t key = std::uint64_t{communicator} << 32 | static_cast<std::uint32_t>(tag);
        return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
    }
    /// Messages of collectives never meet others; among each other they keep their order.
    std::uint32_t collective(std::uint32_t communicator) { return number(communicator, std::int32_t{-2}); }

  private:
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

} // namespace rankwise::replay
