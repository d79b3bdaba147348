// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// Layout of binary GOAL, in bytes; formats/goal.md draws it. All numbers are little-endian.
namespace rankwise::replay::goal_binary {

inline constexpr std::uint64_t cookie = 4223;
inline constexpr std::uint64_t used_up_cookie = 2342; ///< a run of LogGOPSim has overwritten the file

inline constexpr std::size_t origin = 8; ///< offsets of the table of ranks count from behind the cookie
inline constexpr std::size_t table = 14; ///< where the table of ranks begins
inline constexpr std::size_t table_entry = 16;
inline constexpr std::size_t block_header = 8;
inline constexpr std::size_t root = 4;
inline constexpr std::size_t node = 39;
inline constexpr std::size_t edge = 4;

inline constexpr std::uint32_t any_number = 0xffffffffu; ///< any source, any tag

} // namespace rankwise::replay::goal_binary
