// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
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

    /// How many times longer jobs take as far as they wait for it.
    struct Stretches {
        double copying = 1, computing = 1;
        bool operator==(const Stretches &) const = default;
    };
    /// @brief Of a copy and of a computation, where computations wait for memory part of their time, each
    /// when it happens to.
    ///
    /// Without a measured slowdown it is what is to be expected over who waits at the same time.
    /// @param[in] copied bytes a second that copies would move if each were alone
    /// @param[in] cores at work on computations that wait for this memory part of their time; those that
    /// ranks share count once
    /// @param[in] waiting how many of these cores do at a time, on average, if each were alone
    Stretches stretches(double copied, double cores, double waiting) const {
        constexpr double rounding = 1e-9;
        const auto computations = static_cast<std::size_t>(std::ceil(std::max(0.0, cores - rounding)));
        if (!slowdown.empty() || computations == 0) {
            const double all = stretch(copied + waiting * per_core);
            return {all, all};
        }
        const double part = std::min(1.0, waiting / static_cast<double>(computations));
        return {expected(copied, computations, part), expected(copied + per_core, computations - 1, part)};
    }
    bool operator==(const Bandwidth &) const = default;

  private:
    /// @return the mean of max(1, demand / capacity) where each of some more cores is there with some
    /// probability
    double expected(double demand, std::size_t more, double probability) const {
        if (demand + static_cast<double>(more) * per_core <= capacity)
            return 1;
        if (probability >= 1)
            return (demand + static_cast<double>(more) * per_core) / capacity;
        double longer = 0, chance = std::pow(1 - probability, static_cast<double>(more));
        for (std::size_t there = 0; there <= more; ++there) {
            const double asked = demand + static_cast<double>(there) * per_core;
            longer += chance * std::max(0.0, asked / capacity - 1);
            chance *= static_cast<double>(more - there) / static_cast<double>(there + 1) * probability /
                      (1 - probability);
        }
        return 1 + longer;
    }
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
