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
///     act 0|1                            change anything (0: say what would be done)
///     irq 0|1                            interrupts may be moved
///     pages DIR                          where ranks' pages are, or directories of them
///     pid N                              a rank without a page; again for each
///     pu OS CORE L2 L3 NUMA PACKAGE      again for each, in logical order; -1: none
///     link S_PER_MESSAGE S_PER_BYTE      again for network, node, package, NUMA node, L3, L2, core
///     memory BYTES_PER_S CORE_BYTES_PER_S [SLOWDOWN...]
///                                        0: not known; how many times longer 1, 2, ... cores take
///     costs_from TEXT                    where they are from
///     state DIR                          for the journal and the lock
///     socket PATH                        where it answers
///     events FILE                        its events, a line of JSON each
///     proc DIR                           in place of /proc
///     sys DIR                            in place of /sys
///     policy NAME VALUE                  a field of Policy but for `act` and `move_interrupts`
///     until ranks-end|stopped            when it ends
///     keep 0|1                           masks stay as they are at its end
///     daemon 0|1                         events go to the system's log (stderr) as well
///     user N                             whose ranks it takes, again for each; none: everybody's
struct Plan {
    std::string pages, state, socket, events;
    std::string proc = "/proc", sys = "/sys";
    std::vector<std::int32_t> pids;
    Node node;
    Policy policy;
    bool until_ranks_end = false;
    bool keep = false;
    bool daemon = false;
    std::vector<std::uint32_t> users;
};

/// @param[in] name of the file, for what is said of it
/// @throws Error that names the file and the line
Plan parse_plan(std::string_view text, const std::string &name);

/// @throws Error that names the file
Plan read_plan(const std::string &path);

} // namespace rankwise::tune
