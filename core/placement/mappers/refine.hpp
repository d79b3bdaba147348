// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "placement/time_estimate.hpp"

namespace rankwise::placement {

struct RefineOptions {
    std::uint64_t seed = 1;
    std::int32_t rounds = 50;             ///< passes over all ranks at most
    std::int32_t random_partners = 4;     ///< besides the slots near a rank's neighbours
    std::function<bool()> stop = nullptr; ///< asked once a rank; true ends the search
    std::vector<std::uint8_t> fixed = {}; ///< of each rank, whether it stays on its slot; empty if none does
    bool keep_nodes = false;              ///< ranks stay on their nodes
};

/// @brief Swap ranks (or move them to empty slots) while that makes the estimate better.
///
/// Each rank in turn tries the slots near those of its costliest neighbours and a few random ones, and takes
/// the best swap if it gains. Never makes the estimate worse; the same seed gives the same result.
///
/// @return number of swaps made
std::int64_t refine(TimeEstimate &estimate, const Hierarchy &hierarchy, const CommMatrix &matrix,
                    const RefineOptions &options);

} // namespace rankwise::placement
