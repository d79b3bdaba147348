// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "placement/graph.hpp"

namespace rankwise::placement {

/// @brief How many ranks the first side of a cut may have.
struct Balance {
    std::int64_t least = 0, most = 0;

    std::int64_t violation(std::int64_t first) const noexcept {
        return first < least ? least - first : first > most ? first - most : 0;
    }
};

/// @brief A graph cut in two.
struct Cut {
    std::vector<std::uint8_t> side; ///< 0 or 1
    std::int64_t first = 0;         ///< ranks on side 0
    Weight weight = 0;              ///< between the sides
};

/// @return the cut of these sides
Cut make_cut(const Graph &graph, std::vector<std::uint8_t> side);

/// @brief Improve a cut by moving vertices one at a time, the best first, downhill too, and going back to the
/// best seen (Fiduccia and Mattheyses, A linear-time heuristic for improving network partitions, DAC 1982).
///
/// Never makes it worse: first less out of balance, then less weight.
///
/// @param[in] passes at most; ends with the first that gains nothing
void improve(const Graph &graph, Cut &cut, const Balance &balance, std::int32_t passes);

} // namespace rankwise::placement
