// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief Who meets whom: the k-th send from a to b with a tag and the k-th receive of b from a with it.
///
/// Message Passing Interface, "Order": messages between two processes with one tag and communicator do not
/// overtake. Neither time nor placement changes that, so it is done once for all replays of a schedule.
struct Matching {
    std::vector<std::uint32_t>
        partner; ///< for a send its receive, for a receive its send, `any` for calc and unmatched
    std::vector<std::uint32_t>
        stream; ///< number of (sender, receiver, tag), `any` for calc and wildcard receives
    std::uint32_t streams = 0;
};

/// @brief Match all operations of a schedule.
///
/// Receives from any source or with any tag stay without a partner, as do the sends that they may take.
///
/// @throws Error a send without a receive or the other way round (in schedules without wildcards); a receive
/// that is
///         smaller than its message; a peer that does not exist
Matching match(const Schedule &schedule);

} // namespace rankwise::replay
