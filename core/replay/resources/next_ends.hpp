// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// When the next job of a group ends, unless something changes.
struct NextEnd {
    Picoseconds time = machine::never;
    std::uint32_t key = any; ///< decides between ends at one time
    std::uint32_t processor = any;
};

/// @brief The next ends of some groups, of which the earliest is known: a tournament tree. An end that
/// changes is replaced, so that none is ever out of date.
class NextEnds {
  public:
    std::uint32_t add() {
        ends_.emplace_back();
        return static_cast<std::uint32_t>(ends_.size() - 1);
    }
    /// @brief Called once after the last `add`.
    void build() {
        leaves_ = std::bit_ceil(std::max<std::size_t>(ends_.size(), 1));
        ends_.resize(leaves_);
        winner_.assign(leaves_, 0);
        for (std::size_t at = leaves_ - 1; at >= 1; --at)
            play(at);
    }
    bool empty() const noexcept { return ends_.empty(); }
    std::span<const NextEnd> all() const noexcept { return ends_; }
    void set(std::uint32_t group, const NextEnd &end) {
        ends_[group] = end;
        for (std::size_t at = (leaves_ + group) / 2; at >= 1; at /= 2) {
            const std::uint32_t before = winner_[at];
            play(at);
            if (winner_[at] == before && before != group)
                return; // further on nothing has changed
        }
    }
    const NextEnd &first() const noexcept { return ends_[leaves_ > 1 ? winner_[1] : 0]; }

  private:
    std::uint32_t at(std::size_t node) const noexcept {
        return node >= leaves_ ? static_cast<std::uint32_t>(node - leaves_) : winner_[node];
    }
    void play(std::size_t node) {
        const std::uint32_t a = at(2 * node), b = at(2 * node + 1);
        const bool b_is_first =
            ends_[b].time < ends_[a].time || (ends_[b].time == ends_[a].time && ends_[b].key < ends_[a].key);
        winner_[node] = b_is_first ? b : a;
    }

    std::vector<NextEnd> ends_;         ///< filled up to a power of two
    std::vector<std::uint32_t> winner_; ///< of each inner node, from 1 on
    std::size_t leaves_ = 1;
};

} // namespace rankwise::replay
