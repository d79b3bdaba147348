// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "replay/matching.hpp"
#include "replay/timeline.hpp"

namespace rankwise::replay {

/// What a stretch of time went into.
enum class Cause : std::uint8_t {
    computation,
    overhead,     ///< a processor sends or receives
    core_sharing, ///< a processor is slower because other ranks use it
    latency,
    bytes,      ///< a message's bytes pass the link or the interfaces
    link_queue, ///< a message waits for others of its rank
    tx_queue,   ///< a message waits for others at the interface of its sender's node
    rx_queue,   ///< and of its receiver's node
    handshake   ///< request and answer of a rendezvous travel
};
inline constexpr std::size_t causes = 9;

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
std::vector<PathSegment> critical_path(const LargeArray<Step> &steps, const machine::Machine &machine,
                                       const machine::Layout &layout, const Timeline &timeline);

/// What the processors of a rank waited for when they had nothing to do, before the rank's last operation
/// ended.
struct Waiting {
    Picoseconds late_sender = 0;   ///< for a send to begin
    Picoseconds late_receiver = 0; ///< for the receive of a rendezvous to be posted
    Picoseconds link_queue = 0, tx_queue = 0, rx_queue = 0;
    Picoseconds transfer = 0; ///< for latency, bytes, request and answer
};

/// @return of each rank
std::vector<Waiting> waiting(const LargeArray<Step> &steps, std::uint32_t ranks, const Timeline &timeline);

} // namespace rankwise::replay
