// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bitset>
#include <cstddef>

namespace rankwise::tune {

inline constexpr std::size_t most_pus = 8192; ///< of a node, as Linux has (CONFIG_NR_CPUS_RANGE_END)
using PuSet = std::bitset<most_pus>;          ///< OS numbers of processing units

/// @return the first unit of a set that is `pu` or above; `most_pus` if there is none
inline std::size_t pu_from(const PuSet &set, std::size_t pu) {
#ifdef __GLIBCXX__ // it looks at whole words
    return pu == 0 ? set._Find_first() : set._Find_next(pu - 1);
#else
    while (pu < most_pus && !set[pu])
        ++pu;
    return pu;
#endif
}

/// @brief What the kernel makes of a mask where a cpuset or units that went offline allow no more.
inline PuSet cut(const PuSet &mask, const PuSet &allowed) {
    const PuSet rest = mask & allowed;
    return rest.any() ? rest : allowed;
}

/// @brief Whether a runtime has bound a thread to a part of `set`, which its rank was given in exchange for
/// as many units: else it would have bound it to the same part of these.
inline bool is_bound_within(const PuSet &mask, const PuSet &set, const PuSet &original) {
    return mask != set && (mask & ~set).none() && set != original && set.count() == original.count();
}

/// @brief What a mask becomes where the n-th unit of `from` becomes the n-th of `to`. Units of `to` that are
/// not in `from` become those that are left, so that no mask gets smaller, and one with all units stays as it
/// is.
inline PuSet exchanged(const PuSet &mask, const PuSet &from, const PuSet &to) {
    PuSet result = mask & ~(from | to);
    const auto put = [&](const PuSet &left, const PuSet &taken) {
        auto target = pu_from(taken, 0);
        for (auto pu = pu_from(left, 0); pu < most_pus && target < most_pus; pu = pu_from(left, pu + 1)) {
            if (mask[pu]) {
                result.set(target);
            }
            target = pu_from(taken, target + 1);
        }
    };
    put(from, to);
    put(to & ~from, from & ~to);
    return result;
}

} // namespace rankwise::tune
