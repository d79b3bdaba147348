// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "explain/timeline.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/prediction.hpp"
#include "schedule/matching.hpp"

namespace rankwise::replay {

/// Why a processor has nothing to do: what the message was doing that ends the gap.
enum class WaitsFor : std::uint8_t {
    late_sender,   ///< its send had not begun
    late_receiver, ///< of a rendezvous that holds up its sender: the receive was not posted
    no_progress,   ///< its message waited until the other rank was inside MPI
    full_buffer,   ///< an eager send waited for room for its message
    link_queue,    ///< it waited for others of its rank
    tx_queue,      ///< it waited for others at the interface of its sender's node
    rx_queue,      ///< and of its receiver's node
    port_queue,    ///< and at switch ports
    transfer,      ///< overhead of the sender, request, answer, latency, bytes
    rest           ///< no message explains it
};
inline constexpr std::array waits_for_names = {"late_sender", "late_receiver", "no_progress", "full_buffer",
                                               "link_queue",  "tx_queue",      "rx_queue",    "port_queue",
                                               "transfer",    "rest"};

/// Picoseconds of a rank by `WaitsFor`.
using Waiting = std::array<Picoseconds, waits_for_names.size()>;

/// @brief What ranks wait for.
///
/// Bytes that a processor deals with while they come in are overhead: they are taken off again, from the
/// transfer first.
///
/// @param[in] steps those that were replayed
/// @return of each rank; its causes add up to its waiting
std::vector<Waiting> waiting(const LargeArray<MatchedOperation> &steps, const machine::Machine &machine,
                             const machine::Placement &placement, const Prediction &prediction,
                             const Timeline &timeline);

} // namespace rankwise::replay
