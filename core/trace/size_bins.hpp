// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace rankwise::trace {

/// @brief Size bin of a message: 0 for 0 bytes, 1 for 1 byte, k for (2^(k-2), 2^(k-1)] bytes.
///
/// Ranges include their upper bound as in Chai, Gao & Panda (2007), section 5.2; layout in
/// formats/recording.h.
std::uint16_t size_bin(std::uint64_t bytes) noexcept;

/// @return the largest message size of a bin, in bytes
std::uint64_t size_bin_upper(std::uint16_t bin) noexcept;

} // namespace rankwise::trace
