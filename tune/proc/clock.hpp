// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ctime>

#include "types.hpp"

namespace rankwise::tune {

/// @return what a clock says now, such as CLOCK_MONOTONIC
inline Seconds clock_s(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<Seconds>(time.tv_sec) + 1e-9 * static_cast<Seconds>(time.tv_nsec);
}

} // namespace rankwise::tune
