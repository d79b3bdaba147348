// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief A process' own pages by NUMA node, of 4 KiB each, in a text of /proc/PID/numa_maps: of mappings
/// that have others as well, those of files, none count.
/// @param[in] allowed NUMA nodes that its cpuset lets it have memory on
NumaPages parse_numa_maps(std::string_view maps, const PuSet &allowed = PuSet{}.set());

} // namespace rankwise::tune
