// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trace/node_file.hpp"

namespace rankwise::replay {

/// A communicator as all of its members know it, of an intercommunicator those of both groups.
struct Communicator {
    std::uint32_t number = 0; ///< the same on every member
    std::vector<std::uint32_t>
        members; ///< world ranks by rank in it; empty if no member wrote them down or some are
                 ///< outside this world (spawned), of an intercommunicator those of one group
    bool is_inter = false;
    std::array<std::vector<std::uint32_t>, 2> groups; ///< of an intercommunicator, in an order of their own

    /// @return which group of an intercommunicator a rank is in
    std::size_t group_of(std::uint32_t world_rank) const;

    /// @return rank in it, `none` of those that are not members
    std::uint32_t rank_of(std::uint32_t world_rank) const;
    static constexpr std::uint32_t none = ~0u;
};

/// @brief The communicators of all ranks of a recording, put together from what each member wrote.
///
/// Members know a communicator by the hash of its group and the how-many-th with that group it is, an
/// intercommunicator by the hashes of both groups and the how-many-th between them.
class Communicators {
  public:
    explicit Communicators(std::span<const trace::ThreadRecord *const> ranks);

    /// @return the communicator of that index on a rank, null if it is unknown there
    const Communicator *find(std::uint32_t world_rank, std::uint32_t index) const;

    const std::vector<Communicator> &all() const noexcept { return all_; } ///< by number

  private:
    std::vector<Communicator> all_;
    std::vector<std::vector<std::uint32_t>>
        number_of_; ///< by world rank and index; `unknown` where there is none
    static constexpr std::uint32_t unknown = ~0u;
};

} // namespace rankwise::replay
