// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner.hpp"

namespace rankwise::tune {

/// @brief What a tuner is started with. `python/rankwise/tune` writes it as text.
///
/// Its first line is `rankwise-tune-plan 1`. Each other line is a key and its values, with spaces between; a
/// path or a text goes to the end of its line. Empty lines count for nothing.
///
///     act 0|1                                  change anything (0: say what would be done)
///     irq 0|1                                  interrupts may be moved
///     pages DIR                                where ranks' pages are, or directories of them
///     pid N                                    a rank without a page; again for each
///     pu OS CORE L2 L3 NUMA PACKAGE            again for each, in logical order; -1: none
///     link S_PER_MESSAGE S_PER_BYTE            again for each of network, node, package, NUMA node, L3, L2,
///     core memory BYTES_PER_S CORE_BYTES_PER_S      0: not known costs_from TEXT state DIR for the journal
///     and the lock socket PATH, events FILE proc DIR, sys DIR                        trees in place of /proc
///     and /sys policy NAME VALUE                        a field of Policy but for `act` and
///     `move_interrupts` until ranks-end|stopped daemon 0|1
struct Plan {
    std::string pages, state, socket, events;
    std::string proc = "/proc", sys = "/sys";
    std::vector<std::int32_t> pids;
    Node node;
    Policy policy;
    bool until_ranks_end = false;
    bool daemon = false;
};

/// @param[in] name of the file, for what is said of it
/// @throws Error that names the file and the line
Plan parse_plan(std::string_view text, const std::string &name);

/// @throws Error that names the file
Plan read_plan(const std::string &path);

} // namespace rankwise::tune
