// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "proc/descriptor.hpp"

namespace rankwise::tune {

/// @brief Make the state directory if it is not there, and lock STATE/lock: one tuner at a time. A forked
/// guard has the lock as well, and holds it until it has restored what is to be.
/// @throws Error if another tuner has it, whose number is named, or the directory is another user's
Descriptor lock_state(const std::string &state);

} // namespace rankwise::tune
