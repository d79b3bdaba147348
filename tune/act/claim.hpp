// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief A lock (flock(2)) of a directory of /proc: of a process, or `/proc/irq`.
///
/// Tuners of all users meet there, whatever network they see and wherever each has its state. Nothing is left
/// of it when its holder has ended, nor can somebody have put something else there first.
struct Claim {
    Descriptor file;
    std::string why; ///< there is none: an end of a sentence, `is tuned by process 12 already`
};

Claim claim(const std::string &directory);

/// @brief Give it back, whoever else has its descriptor.
void release(const Descriptor &claimed);

/// @return the process that locked a file with flock(2), 0 if that is not known
std::int32_t lock_holder(int file);

} // namespace rankwise::tune
