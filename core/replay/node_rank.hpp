// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "machine/machine.hpp"
#include "replay/machine_events.hpp"
#include "replay/message_costs.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// Of `Event::order`.
inline constexpr std::uint32_t operation_mask = (1u << phase_shift) - 1;

/// A rank's processor, one job after the other in the order in which they became ready, and its link.
struct alignas(64) NodeRank {
    List ready;
    std::uint32_t running = any;
    std::uint32_t slot = 0; ///< among all ranks, those of a node one after the other
    List on_link;           ///< sends that wait for the link
    Picoseconds idle_since = 0;
    Picoseconds link = 0; ///< when the link is free
    Picoseconds overhead = 0, computation = 0;
    Picoseconds finish = 0;
};
static_assert(sizeof(NodeRank) == 64);

/// When something happens to a rank next.
struct NodeNext {
    Picoseconds job_end = machine::never;   ///< of the job under way
    Picoseconds link_free = machine::never; ///< for the first message that waits for the link
};

} // namespace rankwise::replay
