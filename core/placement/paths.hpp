// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "placement/hierarchy.hpp"

namespace rankwise::placement {

/// The way from the top of the machine down to a slot, in one number.
using Path = std::uint64_t;

/// @brief Distances of slots from one look at each: the highest bit in which two paths differ says at which
/// level they part.
///
/// Level after level, widest first, a path has the number of the block among its siblings.
class Paths {
  public:
    /// @pre the slots of each block follow one another
    Paths(const Hierarchy &hierarchy, const Distances &distances)
        : of_(static_cast<std::size_t>(hierarchy.count()), 0) {
        const auto levels = static_cast<std::size_t>(hierarchy.levels);
        std::vector<Path> most(levels, 0), at(levels, 0);
        std::vector<Path> numbers(levels * of_.size());
        for (Slot slot = 0; slot < hierarchy.count(); ++slot) {
            const auto common =
                slot == 0 ? std::size_t{0} : static_cast<std::size_t>(hierarchy.level(slot - 1, slot));
            if (slot > 0 && common < levels)
                ++at[common];
            for (std::size_t level = common + 1; level < levels; ++level)
                at[level] = 0;
            for (std::size_t level = 0; level < levels; ++level) {
                most[level] = std::max(most[level], at[level]);
                numbers[static_cast<std::size_t>(slot) * levels + level] = at[level];
            }
        }
        level_.fill(hierarchy.levels);
        int bits = 0;
        for (auto level = levels; level-- > 0;) {
            const int width = static_cast<int>(std::bit_width(most[level]));
            for (int bit = bits + 1; bit <= bits + width && bit <= 64; ++bit)
                level_[static_cast<std::size_t>(bit)] = static_cast<std::int32_t>(level);
            if (bits < 64)
                for (std::size_t slot = 0; slot < of_.size(); ++slot)
                    of_[slot] |= numbers[slot * levels + level] << bits;
            bits += width;
        }
        for (std::size_t bit = 0; bit < level_.size(); ++bit)
            distance_[bit] = distances.of_level[static_cast<std::size_t>(level_[bit])];
    }

    Path of(Slot slot) const noexcept { return of_[static_cast<std::size_t>(slot)]; }

    /// @return how many levels two slots have in common
    std::int32_t level(Path a, Path b) const noexcept {
        return level_[static_cast<std::size_t>(std::bit_width(a ^ b))];
    }

    double distance(Path a, Path b) const noexcept {
        return distance_[static_cast<std::size_t>(std::bit_width(a ^ b))];
    }

  private:
    std::vector<Path> of_;
    std::array<std::int32_t, 65> level_{}; // by the number of bits up to the highest that differs
    std::array<double, 65> distance_{};
};

} // namespace rankwise::placement
