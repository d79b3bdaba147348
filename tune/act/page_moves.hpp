// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "types.hpp"

namespace rankwise::tune {

/// @brief A range of a process' memory that may have pages on another node than one.
struct MemoryRange {
    std::uint64_t begin, bytes, page_bytes;
};

/// @brief Ranges of private memory in a text of /proc/PID/maps, with those that numa_maps says are on
/// `to_numa` alone left out.
/// @param[in] maps      /proc/PID/maps: where ranges end
/// @param[in] numa_maps /proc/PID/numa_maps: where pages are, and how large
std::vector<MemoryRange> ranges_elsewhere(std::string_view maps, std::string_view numa_maps,
                                          std::int32_t to_numa);

/// @brief Move a process' pages to a NUMA node with move_pages(2), in batches that take at most 20 ms each
/// and pauses as long between them.
/// @return empty, or why not all of them were
std::string move_pages_of(const TaskId &process, std::int32_t to_numa, const std::string &proc);

} // namespace rankwise::tune
