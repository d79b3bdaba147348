// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

#include "placement/surrogate.hpp"

namespace rankwise::placement {

struct RefineOptions {
    std::uint64_t seed = 1;
    std::int32_t rounds = 50;              ///< passes over all ranks at most
    std::int32_t random_partners = 4;      ///< besides the slots near a rank's neighbours
    std::function<bool()> stop = nullptr;  ///< asked once a rank; true ends the search
};

/// @brief Swap ranks (or move them to empty slots) while that makes the surrogate better.
///
/// Each rank in turn tries the slots near those of its costliest neighbours and a few random ones, and takes the best
/// swap if it gains. Never makes the surrogate worse; the same seed gives the same result.
///
/// @return number of swaps made
std::int64_t refine(Surrogate &surrogate, const Slots &slots, const Traffic &traffic, const RefineOptions &options);

} // namespace rankwise::placement
