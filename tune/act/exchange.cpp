// SPDX-License-Identifier: BSD-3-Clause
#include "act/exchange.hpp"

namespace rankwise::tune {
namespace {

void put(const PuSet &mask, const PuSet &from, const PuSet &to, PuSet &result) {
    auto target = to._Find_first();
    for (auto pu = from._Find_first(); pu < most_pus && target < most_pus; pu = from._Find_next(pu)) {
        if (mask[pu]) {
            result.set(target);
        }
        target = to._Find_next(target);
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
