// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "replay/event_queue.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// What happens, in the order in which it is served if it happens at one time.
enum Phase : std::uint32_t {
    data_arrives,    // last byte of a message is at its receiver's node
    enters_rx,       // first byte reaches the interface of the receiver's node
    request_arrives, // of a rendezvous, at the receiver
    clear_arrives,   // of a rendezvous, back at the sender
    data_left,       // last byte of a rendezvous has left its sender
    enters_link,     // first byte leaves its rank, when the rank's link is free
    job_ends,
    core_ends // of a shared core: one of its jobs ends
};
inline constexpr std::uint32_t phase_shift = 29;

/// What the processor does for an operation; one job of an operation is under way at a time.
enum class Job : std::uint8_t { none, calc, send, send_bytes, clear, data, receive, receive_bytes };
inline constexpr unsigned job_shift = Progress::own_shift + 2; ///< among the bits of an operation

/// A processor of a rank, one job after the other in the order in which they became ready, and the link of
/// the same number. All that is looked at for most events, in one cache line.
struct alignas(64) Processor {
    List ready;
    std::uint32_t running = any;
    std::uint32_t unfinished = 0; ///< operations of the rank (at its first processor)
    Picoseconds started = 0, work = 0;
    Picoseconds idle_since = 0;
    Picoseconds link = 0; ///< when the link is free
    Picoseconds overhead = 0;
    Picoseconds finish = 0; ///< of the rank (at its first processor)
};
static_assert(sizeof(Processor) == 64);

/// What holds up the last byte of a receive's message.
struct LastByte {
    Picoseconds time = 0;
    std::uint32_t known = 0; ///< of the things that hold it up: how many have said until when
    bool passed_rx = false;
};

/// Bits of a message beside those of Progress: the first two at its receive, the others at its send.
enum : std::uint32_t {
    is_requested = 1u << Progress::own_shift,
    is_arrived = 2u << Progress::own_shift,
    has_left = 1u << Progress::own_shift,
    core_is_done = 2u << Progress::own_shift
};

/// @brief Operations have other numbers: change an event.
/// @param[in] now of each operation as it was
inline void renumber(Event &event, std::span<const std::uint32_t> now) {
    constexpr std::uint32_t operation = (1u << phase_shift) - 1;
    const auto phase = static_cast<Phase>(event.order >> phase_shift);
    if (phase == core_ends)
        return;
    event.order = phase << phase_shift | now[event.order & operation];
    if (phase != job_ends)
        event.what = now[event.what];
}

} // namespace rankwise::replay
