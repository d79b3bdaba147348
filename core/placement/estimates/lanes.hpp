// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace rankwise::replay {

inline constexpr std::size_t lanes = 8; ///< placements side by side

/// A time for each of some placements, in picoseconds; whole numbers are exact up to 2.5 hours.
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));
/// A number for each of some placements.
using LaneNumbers = std::int64_t __attribute__((vector_size(lanes * sizeof(std::int64_t))));
using LaneBytes = std::uint8_t __attribute__((vector_size(lanes)));

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// Into callers that are compiled for one instruction set each; vectors must not pass between functions.
#pragma GCC diagnostic ignored "-Wpsabi"
#define RANKWISE_INLINE inline __attribute__((always_inline))

RANKWISE_INLINE Lanes all(double value) {
    return Lanes{} + value;
}
RANKWISE_INLINE Lanes larger(const Lanes &a, const Lanes &b) {
    return a > b ? a : b;
}

RANKWISE_INLINE Lanes smaller(const Lanes &a, const Lanes &b) {
    return a < b ? a : b;
}

/// `table[index]` in each lane, of a table with as many entries as there are lanes.
RANKWISE_INLINE Lanes pick(const Lanes &table, const LaneNumbers &index) {
#if defined(__GNUC__) && !defined(__clang__)
    return __builtin_shuffle(table, index);
#else
    Lanes picked;
    for (std::size_t l = 0; l < lanes; ++l)
        picked[l] = table[index[l]];
    return picked;
#endif
}

} // namespace rankwise::replay
