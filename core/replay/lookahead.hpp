// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "schedule/matching.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// How long what a rank does stays unknown to others, at least; 0 if that cannot be said.
struct Lookahead {
    Picoseconds between = 0; ///< to ranks of other nodes
    Picoseconds passing = 0; ///< its last part, from a message's first byte at the other node to its last one
    Picoseconds inside = 0;  ///< to ranks of the same node, and from its interface back to its ranks
    bool core_and_link = false; ///< a rendezvous may wait for its processor and for the link at once
};

/// @brief The least times between what a rank does and what others notice of it, for the sizes of messages
/// that a schedule has.
///
/// Nothing can be said (all is 0) if ranks have several processors, or share cores, or if messages inside a
/// node pass its interfaces.
Lookahead lookahead(const Schedule &schedule, const Matching &matching, const machine::Machine &machine,
                    const machine::Placement &placement);

} // namespace rankwise::replay
