// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recording.h"

namespace rankwise::trace {

/// @brief One thread's trace as it lies in the file, and how it is coded.
struct PackedTrace {
    std::vector<std::span<const std::byte>> runs; // views into the file
    std::uint32_t coding = RW_TRACE_EXACT;
    std::uint32_t unit_shift = 0;
};

} // namespace rankwise::trace
