// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "fault.hpp"
#include "machine/interface.hpp"

namespace rankwise::replay {

/// @return the time of an event, if it is early enough that what is added to it cannot overflow
inline machine::Picoseconds in_range(machine::Picoseconds time) {
    if (time > 2 * machine::longest) [[unlikely]]
        throw FaultError({.kind = Fault::Kind::long_program});
    return time;
}

} // namespace rankwise::replay
