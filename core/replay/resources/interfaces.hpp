// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/interface.hpp"
#include "replay/prediction.hpp"

namespace rankwise::replay {

/// One direction of a node's network interface, or a switch port: first in, first out.
struct Passage {
    Picoseconds free = 0;
    InterfaceLoad load;

    /// @param[in] time how long the message, or the part of one, takes it
    /// @return when it begins to pass
    Picoseconds pass(const machine::Interface &interface, std::uint64_t bytes, Picoseconds time,
                     Picoseconds now, bool first_part = true) {
        load.messages += first_part;
        load.bytes += bytes;
        if (interface.free_of_cost())
            return now;
        const Picoseconds start = std::max(now, free);
        free = start + time;
        load.busy += time;
        load.queued += start - now;
        return start;
    }
};

/// Both directions of each node's interface.
struct Interfaces {
    explicit Interfaces(std::size_t nodes) : tx(nodes), rx(nodes) {}

    std::vector<Passage> tx, rx;
};

} // namespace rankwise::replay
