// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankwise::trace {

/// @brief Pack events as RW_TRACE_EXACT (formats/recording.h, "Coding"): the other way round as
/// `EventReader`.
/// @param[in] shapes   distinct shapes: kind and payload, packed
/// @param[in] shape_of for each event its index in `shapes`
/// @param[in] gaps     ticks since the end of the event before
/// @param[in] durations ticks inside the call
/// @return the stream, to be one run
/// @throws Error the last three differ in length, or an index is none of `shapes`
std::vector<std::byte> pack_events(std::span<const std::span<const std::byte>> shapes,
                                   std::span<const std::uint32_t> shape_of,
                                   std::span<const std::uint64_t> gaps,
                                   std::span<const std::uint64_t> durations);

} // namespace rankwise::trace
