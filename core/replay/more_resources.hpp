// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "machine/machine.hpp"
#include "replay/message_paths.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// The plain model: nothing is shared but interfaces and cores.
struct NoMoreResources {
    static constexpr bool any = false;
    NoMoreResources(const Schedule &, const machine::Machine &, const machine::Layout &) {}
};

/// @brief State of all Resources beyond interfaces and cores during one replay.
///
/// The Engine asks it where jobs start and end, and on a message's way: where it leaves its rank, enters and
/// leaves the network, and is at its receiver.
struct MoreResources {
    static constexpr bool any = true;
    MoreResources(const Schedule &schedule, const machine::Machine &machine, const machine::Layout &layout)
        : paths(schedule, machine, layout) {}

    MessagePaths paths;
};

} // namespace rankwise::replay
