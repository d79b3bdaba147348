// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Others that move processes, pages or interrupts of the node: `irqbalance`, `numad` (by names of
/// processes), `AutoNUMA` (sys/kernel/numa_balancing), `sched_ext` (its state), `DLB` (mapped by a rank).
/// @param[in] ranks that are asked for what they have mapped
std::vector<std::string> find_movers(Text &text, const std::string &proc, const std::string &sys,
                                     const std::vector<TaskId> &ranks);

} // namespace rankwise::tune
