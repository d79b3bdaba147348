// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "explain/timeline.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "schedule/matching.hpp"

namespace rankwise::replay {

/// What a stretch of time went into.
enum class Cause : std::uint8_t {
    computation,
    overhead,     ///< a processor sends or receives
    core_sharing, ///< a processor is slower because other ranks use it
    memory,       ///< or because others load its memory or cache
    interrupts,   ///< a processor stands still, or a message waits, for the interrupt core
    latency,
    bytes,      ///< a message's bytes pass the link or the interfaces
    link_queue, ///< a message waits for others of its rank
    tx_queue,   ///< a message waits for others at the interface of its sender's node
    rx_queue,   ///< and of its receiver's node
    port_queue, ///< and at switch ports
    handshake   ///< request and answer of a rendezvous travel
};
inline constexpr std::array cause_names = {"computation", "overhead", "core_sharing", "memory",
                                           "interrupts",  "latency",  "bytes",        "link_queue",
                                           "tx_queue",    "rx_queue", "port_queue",   "handshake"};

/// Part of the critical path: an operation, and what its time went into.
struct PathSegment {
    std::uint32_t op;
    Cause cause;
    Picoseconds from, to;
};

/// @brief The chain of causes of the makespan, from time 0 to the end of the operation that ends last.
///
/// Goes back from there: to what an operation waited for last, which is an operation of its rank, the job
/// before it on its processor, or its message. Of several that ended at one time the message is taken, then
/// the operation of the rank.
///
/// @param[in] steps those that were replayed
/// @return segments without gaps, the earliest first; those of no length are left out
std::vector<PathSegment> critical_path(const LargeArray<MatchedOperation> &steps,
                                       const machine::Machine &machine, const machine::Placement &placement,
                                       const Timeline &timeline);

} // namespace rankwise::replay
