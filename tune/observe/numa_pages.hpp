// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proc/text.hpp"

namespace rankwise::tune {

/// @brief A process' own pages by NUMA node, of 4 KiB each, in a text of /proc/PID/numa_maps: of mappings
/// that have others as well, those of files, none count.
/// @return empty if it has none
std::vector<std::uint64_t> parse_numa_maps(std::string_view maps);

} // namespace rankwise::tune
