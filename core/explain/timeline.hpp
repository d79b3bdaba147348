// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// When things happened to one operation, and why not earlier. Times that do not apply are 0.
struct OperationTimes {
    Picoseconds ready = 0; ///< the last operation it waits for has ended (or begun); a receive is posted
    Picoseconds begin = 0; ///< the processor begins with it; of a receive: with its message
    Picoseconds end = 0;
    Picoseconds connecting = 0; ///< how much longer its first job took as its rank had not met the other
    Picoseconds memory = 0;     ///< how much longer its jobs took because others loaded their memory or cache
    Picoseconds interrupted = 0; ///< and because their core did the node's protocol work
    Picoseconds sent = 0;        ///< of a send: its data are handed to the rank's link
    Picoseconds on_link = 0;     ///< its first byte leaves the rank
    Picoseconds on_tx = 0;       ///< and enters the network through the interface of the node
    Picoseconds at_ports = 0;    ///< of a receive: how long the first byte waited for others at switch ports
    Picoseconds at_rx = 0;       ///< and is at the node's interface
    Picoseconds on_rx = 0;       ///< and passes it
    Picoseconds arrives = 0;     ///< its last byte is there
    std::uint32_t released_by = any; ///< operation that it waited for last, `any` if for none
    std::uint32_t after = any;       ///< operation that had the processor until `begin`, `any` if it was idle
    Picoseconds answered = 0;        ///< of a receive: the processor answers a rendezvous (in-call progress)
    std::uint32_t late_after =
        any; ///< operation that had the processor until `answered`, or of a send until `sent`
    /// Where buffers can be full: the last time that its rank was back inside MPI and went on with a
    /// message's parts, at a send to hand them over, at a receive to read them; and the operation until then.
    Picoseconds resumed = 0;
    std::uint32_t resumed_after = any;
    bool let_go = false; ///< of a send: what comes after it did not wait for its message
};

/// @brief What a replay did at what time, for every operation.
struct Timeline {
    /// A processor that had nothing to do.
    struct Gap {
        std::uint32_t op; ///< what it did next
        Picoseconds from, to;
    };

    std::vector<OperationTimes> operations;
    std::vector<Gap> gaps;
};

} // namespace rankwise::replay
