// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>

#include "fault.hpp"
#include "machine/interface.hpp"

namespace rankwise::replay {

/// Something that happens; `order` decides between events of one time.
struct Event {
    std::int64_t time;
    std::uint32_t order;
    std::uint32_t what;
};

/// Later than all events.
inline constexpr Event never_happens{std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::uint32_t>::max(), 0};

inline bool before(const Event &a, const Event &b) noexcept {
    return a.time < b.time || (a.time == b.time && a.order < b.order);
}

/// For algorithms, which can inline it.
struct Before {
    bool operator()(const Event &a, const Event &b) const noexcept { return before(a, b); }
};

/// @return the time of an event, if it is early enough that what is added to it cannot overflow
inline std::int64_t in_range(std::int64_t time) {
    if (time > 2 * machine::longest) [[unlikely]]
        throw FaultError({.kind = Fault::Kind::long_program});
    return time;
}

/// What happens on a machine, in the order in which it is served if it happens at one time.
enum Phase : std::uint32_t {
    data_arrives,    // last byte of a message is at its receiver's node
    enters_rx,       // first byte reaches the interface of the receiver's node, or a port on its way there
    request_arrives, // of a rendezvous, at the receiver
    clear_arrives,   // of a rendezvous, back at the sender
    data_left,       // last byte of a rendezvous has left its sender
    enters_link,     // first byte leaves its rank, when the rank's link is free
    job_ends,
    core_rests // an interrupt core may be done
};

/// Of `Event::order`: the phase above the number of an operation, a processor or a core.
inline constexpr std::uint32_t phase_shift = 29;
inline constexpr std::uint32_t operation_mask = (1u << phase_shift) - 1;

inline constexpr std::uint32_t order_of(Phase phase, std::uint32_t number) noexcept {
    return static_cast<std::uint32_t>(phase) << phase_shift | number;
}
inline constexpr Phase phase_of(std::uint32_t order) noexcept {
    return static_cast<Phase>(order >> phase_shift);
}

} // namespace rankwise::replay
