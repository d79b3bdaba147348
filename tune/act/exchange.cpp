// SPDX-License-Identifier: BSD-3-Clause
#include "act/exchange.hpp"

namespace rankwise::tune {
namespace {

void put(const PuSet &mask, const PuSet &from, const PuSet &to, PuSet &result) {
    auto target = pu_from(to, 0);
    for (auto pu = pu_from(from, 0); pu < most_pus && target < most_pus; pu = pu_from(from, pu + 1)) {
        if (mask[pu]) {
            result.set(target);
        }
        target = pu_from(to, target + 1);
    }
}

} // namespace

PuSet exchanged(const PuSet &mask, const PuSet &from, const PuSet &to) {
    PuSet result = mask & ~(from | to);
    put(mask, from, to, result);
    put(mask, to & ~from, from & ~to, result);
    return result;
}

} // namespace rankwise::tune
