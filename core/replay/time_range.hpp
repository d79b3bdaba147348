// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "error.hpp"
#include "machine/interface.hpp"

namespace rankwise::replay {

/// @return the time of an event, if it is early enough that what is added to it cannot overflow
inline machine::Picoseconds in_range(machine::Picoseconds time) {
    if (time > 2 * machine::longest) [[unlikely]]
        throw Error("the program takes longer than 26 days, the most that is replayed",
                    "look for a wrong unit: a computation, a message's bytes, a number of the machine");
    return time;
}

} // namespace rankwise::replay
