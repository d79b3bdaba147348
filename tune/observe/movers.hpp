// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Others that move processes, pages or interrupts of the node: `irqbalance`, `numad` (by names of
/// processes of root and of this user), `AutoNUMA` (sys/kernel/numa_balancing), `sched_ext` (its state).
std::vector<std::string> find_movers(Text &text, const std::string &proc, const std::string &sys);

/// @return whether processes of all users can be seen: not where /proc is mounted with `hidepid`, and this
/// user is not in the group that may (`gid=`)
bool sees_all_processes(Text &text, const std::string &proc);

/// @brief What is said where it does not.
inline constexpr std::string_view hidden_processes =
    "other movers and jobs: processes of other users cannot be seen, as /proc is mounted with hidepid";

/// @return whether a process has DLB's library in its memory
bool has_dlb(Text &text, const std::string &proc, const TaskId &rank);

} // namespace rankwise::tune
