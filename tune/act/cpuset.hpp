// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "types.hpp"

namespace rankwise::tune {

/// @brief Units that a process' control group allows, and that are online.
PuSet cpuset_of(const std::string &proc, const std::string &sys, std::int32_t process);

/// @brief What the kernel makes of a mask where the cpuset or units that went offline allow no more.
PuSet cut(const PuSet &mask, const PuSet &cpuset);

} // namespace rankwise::tune
