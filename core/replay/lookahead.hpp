// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Which nodes can be served without looking at the others, and for how long: how long what a rank
/// does stays unknown to others, at least.
struct Lookahead {
    std::vector<std::uint32_t> queue_of_node; ///< nodes that share something have one queue of events
    std::uint32_t queues = 1;
    Picoseconds between = 0; ///< to ranks of other queues; 0 if all have one
    /// Last part of `between`, from a message's first byte at the other node to its last; 0 if the first byte
    /// is noticed there.
    Picoseconds passing = 0;

    bool by_rank = false;       ///< ranks of a node need not be served in the order of time, see `inside`
    Picoseconds inside = 0;     ///< to ranks of the same node, and from its interface back to its ranks
    bool core_and_link = false; ///< a rendezvous may wait for its processor and for the link at once
};

/// @brief The least times between what a rank does and what others notice of it, for the messages that a
/// schedule has.
///
/// @param[in] one_order everything is to be served in one order, whatever the machine
Lookahead look_ahead(const Schedule &schedule, const MessageRange &messages, const machine::Machine &machine,
                     const machine::Placement &placement, bool one_order);

} // namespace rankwise::replay
