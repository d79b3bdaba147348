// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/interface.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/prediction.hpp"

namespace rankwise::replay {

/// One direction of a network interface, or a switch port: first in, first out.
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

/// Both directions of each interface, node after node.
struct Interfaces {
    Interfaces(const machine::Machine &machine, const machine::Placement &placement)
        : of_node(machine.interfaces), of_rank(placement.interfaces()), half_duplex(machine.half_duplex),
          tx(std::size_t{placement.nodes()} * of_node), rx(tx.size()) {}

    /// @brief A message, or a part of one, comes in by an interface.
    /// @return when it begins to pass
    Picoseconds pass_rx(std::size_t number, const machine::Interface &interface, std::uint64_t bytes,
                        Picoseconds time, Picoseconds now, bool first_part = true) {
        if (!half_duplex)
            return rx[number].pass(interface, bytes, time, now, first_part);
        rx[number].free = tx[number].free;
        const Picoseconds start = rx[number].pass(interface, bytes, time, now, first_part);
        tx[number].free = rx[number].free;
        return start;
    }

    std::uint32_t of_node;                     ///< how many each has
    const std::vector<std::uint32_t> &of_rank; ///< that a rank sends and receives through
    bool half_duplex;                          ///< what goes out and comes in passes one after the other
    std::vector<Passage> tx, rx;
};

} // namespace rankwise::replay
