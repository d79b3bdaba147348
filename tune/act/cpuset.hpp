// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "types.hpp"

namespace rankwise::tune {

/// @brief Units that a process' control group allows, and that are online.
PuSet cpuset_of(const std::string &proc, const std::string &sys, std::int32_t process);

/// @brief What gives a thread back the mask that it has now. Where that is all of its cpuset, it is all units
/// there can be, so that the thread has all of its cpuset also when that grows. Else units that are offline
/// belong to it, which the system call leaves out.
/// @param[in] mask   as the system call says
/// @param[in] cpuset of the process, as `cpuset_of` says
PuSet to_give_back(const std::string &proc, std::int32_t process, std::int32_t thread, const PuSet &mask,
                   const PuSet &cpuset);

} // namespace rankwise::tune
