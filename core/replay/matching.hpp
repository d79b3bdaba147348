// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "large_array.hpp"
#include "replay/progress.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief An operation once it is known whom it meets: 16 bytes.
class Step {
  public:
    Step(const Operation &operation, std::uint32_t with)
        : partner(with), peer(operation.peer),
          packed_(operation.bytes() | std::uint64_t{operation.kind() == Kind::calc} << 63 |
                  std::uint64_t{operation.kind() == Kind::receive} << 62) {}

    Kind kind() const noexcept {
        return packed_ >> 63 ? Kind::calc : packed_ >> 62 ? Kind::receive : Kind::send;
    }
    /// Of the message; of a receive without a partner the most it takes.
    std::uint64_t bytes() const noexcept { return packed_ & Operation::mask; }
    Picoseconds time() const noexcept { return static_cast<Picoseconds>(packed_ & Operation::mask); }

    /// @brief A receive gets this message.
    void take(const Step &send) noexcept { packed_ = (packed_ & ~Operation::mask) | send.bytes(); }

    std::uint32_t partner; ///< for a send its receive, for a receive its send, `any` for calc and unmatched
    std::uint32_t peer;    ///< rank at the other end, or `any`

  private:
    std::uint64_t packed_;
};
static_assert(sizeof(Step) == 16);

/// @brief Who meets whom: the k-th send from a to b with a tag and the k-th receive of b from a with it.
///
/// Message Passing Interface, "Order": messages between two processes with one tag and communicator do not
/// overtake. Neither time nor placement changes that, so it is done once for all replays of a schedule.
struct Matching {
    LargeArray<Step> steps;         ///< of each operation
    LargeArray<std::uint32_t> rank; ///< of each operation
    std::vector<std::uint32_t>
        stream; ///< number of (sender, receiver, tag), `any` for calc and wildcard receives
    std::uint32_t streams = 0;
    Releases releases;
    std::uint64_t largest_message = 0; ///< bytes
};

/// @brief Match all operations of a schedule.
///
/// Receives from any source or with any tag stay without a partner, as do the sends that they may take.
///
/// @throws Error a send without a receive or the other way round (in schedules without wildcards); a receive
/// that is
///         smaller than its message; a peer that does not exist
Matching match(const Schedule &schedule);

/// @return for each send its receive and the other way round, `any` for calc
std::vector<std::uint32_t> partners_of(const LargeArray<Step> &steps);

/// @brief The steps of a schedule whose partners are known, for schedules with wildcards.
/// @param[in] partner for each send its receive and the other way round, `any` for calc
LargeArray<Step> steps_with(const Schedule &schedule, const Matching &matching,
                            const std::vector<std::uint32_t> &partner);

} // namespace rankwise::replay
