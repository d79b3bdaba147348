// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief A process' own pages by NUMA node, of 4 KiB each, in a text of /proc/PID/numa_maps: of mappings
/// that have others as well, those of files, none count.
NumaPages parse_numa_maps(std::string_view maps);

} // namespace rankwise::tune
