// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "large_array.hpp"
#include "schedule/matched_operation.hpp"

namespace rankwise::replay {

/// What messages a schedule has.
struct MessageRange {
    std::uint64_t smallest = ~std::uint64_t{0}, largest = 0; ///< bytes
    std::uint64_t least_synchronous = ~std::uint64_t{0};     ///< bytes of the smallest synchronous one
    bool to_itself = false;                                  ///< some rank sends to itself

    void add(const Operation &send, std::uint32_t rank) {
        smallest = std::min(smallest, send.bytes());
        largest = std::max(largest, send.bytes());
        if (send.synchronous())
            least_synchronous = std::min(least_synchronous, send.bytes());
        to_itself |= send.peer == rank;
    }
};

/// @brief Who meets whom: the k-th send from a to b with a tag and the k-th receive of b from a with it.
///
/// Message Passing Interface, "Order": messages between two processes with one tag and communicator do not
/// overtake. Neither time nor placement changes that, so it is done once for all replays of a schedule.
struct Matching {
    LargeArray<MatchedOperation> steps; ///< of each operation
    std::uint32_t streams = 0;
    std::vector<std::uint64_t> sizes; ///< `MatchedOperation::message` of each `MatchedOperation::size_class`,
                                      ///< of the first `most_sizes`
    MessageRange messages;

    static constexpr std::size_t most_sizes = 4096;
};

/// @brief Match all operations of a schedule.
///
/// Receives from any source or with any tag stay without a partner, as do the sends that they may take.
///
/// @throws Error a send without a receive or the other way round (in schedules without wildcards); a receive
/// that is
///         smaller than its message; a peer that does not exist
Matching match(const Schedule &schedule);

/// @brief The steps of a schedule with wildcards, once it is known who meets whom.
/// @param[in] partner for each send its receive and the other way round, `any` for calc
LargeArray<MatchedOperation> with_partners(LargeArray<MatchedOperation> steps,
                                           const std::vector<std::uint32_t> &partner);

} // namespace rankwise::replay
