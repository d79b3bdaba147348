// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rankwise::machine {

/// @brief A memory or a cache: those who move bytes at once share its bytes per second.
///
/// Jobs that together ask for more than it has take longer by `stretch`, all by the same factor.
struct Bandwidth {
    double capacity = std::numeric_limits<double>::infinity(); ///< bytes a second
    double per_core = 0; ///< bytes a second that a core asks for that does nothing but wait for this memory
    std::vector<double> slowdown;     ///< measured: at [k - 1] with k such cores; empty: by capacity alone
    double passes = 1;                ///< how often each byte that a job copies goes through it
    std::vector<std::uint8_t> copies; ///< of each link class: whether jobs that copy its messages load it
    bool computation = false;         ///< whether ranks that compute load it and are slowed by it

    /// @param[in] demand bytes a second that the jobs would move if each were alone
    /// @return how many times longer each takes as far as it waits for this memory, at least 1
    double stretch(double demand) const {
        if (slowdown.empty())
            return std::max(1.0, demand / capacity);
        const double cores = demand / per_core;
        const std::size_t measured = slowdown.size();
        if (cores <= 1)
            return 1;
        if (cores >= static_cast<double>(measured))
            return std::max(slowdown.back(), demand / capacity);
        const auto below = static_cast<std::size_t>(cores);
        const double part = cores - static_cast<double>(below);
        return slowdown[below - 1] + part * (slowdown[below] - slowdown[below - 1]);
    }
    bool operator==(const Bandwidth &) const = default;
};

/// The part of a host-processed protocol that one core of a node does for all of its ranks.
struct InterruptCore {
    bool exists = false;
    std::int64_t per_message = 0; ///< picoseconds
    double per_byte = 0;
    double far_factor = 1; ///< what a receiver's own part costs more if it is far from this core

    bool operator==(const InterruptCore &) const = default;
};

} // namespace rankwise::machine
