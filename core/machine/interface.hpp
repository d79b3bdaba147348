// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>

#include "fault.hpp"

namespace rankwise::machine {

/// Times are whole picoseconds; times per byte are fractions of them. formats/machine.md has the meaning of
/// all numbers.
using Picoseconds = std::int64_t;

/// The most that anything takes: 13 days. Replays stop at twice as much, so that no sum overflows.
inline constexpr Picoseconds longest = Picoseconds{1} << 60;

/// @brief Bytes times a cost of each.
/// @throws FaultError that is longer than `longest`
inline Picoseconds time_of_bytes(double bytes, double per_byte) {
    const double time = bytes * per_byte;
    if (time > static_cast<double>(longest)) [[unlikely]]
        throw FaultError(
            {.kind = Fault::Kind::long_message, .bytes = static_cast<std::uint64_t>(std::llround(bytes))});
    return std::llround(time);
}

/// What messages pass one after the other: one direction of a node's network interface, or a switch port.
struct Interface {
    Picoseconds per_message = 0;
    double per_byte = 0; ///< 1 / capacity

    Picoseconds time(std::uint64_t bytes) const {
        return per_message + time_of_bytes(static_cast<double>(bytes), per_byte);
    }
    bool free_of_cost() const { return per_message == 0 && per_byte == 0; }
    bool operator==(const Interface &) const = default;
};

} // namespace rankwise::machine
