// SPDX-License-Identifier: BSD-3-Clause
#include "trace/size_bins.hpp"

#include <bit>

namespace rankwise::trace {

std::uint16_t size_bin(std::uint64_t bytes) noexcept {
    return bytes == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(1 + std::bit_width(bytes - 1));
}

std::uint64_t size_bin_upper(std::uint16_t bin) noexcept {
    return bin == 0 ? 0 : std::uint64_t{1} << (bin - 1);
}

} // namespace rankwise::trace
