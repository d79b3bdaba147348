// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "collectives/operation.hpp"

namespace rankwise::collectives {

/// @brief A buffer cut into consecutive blocks, one for each of some ranks; positions without a table.
class Blocks {
  public:
    /// @brief Equal blocks.
    static Blocks equal(std::uint32_t count, std::uint64_t bytes) { return {count, bytes, 0, 1, {}}; }

    /// @brief A buffer cut as evenly as whole elements allow: the first blocks are one element longer.
    static Blocks split(std::uint32_t count, std::uint64_t bytes, std::uint32_t element_bytes) {
        const std::uint64_t element = std::max<std::uint32_t>(element_bytes, 1);
        const std::uint64_t elements = bytes / element;
        return {count, elements / count, elements % count, element, {}};
    }

    /// @brief A buffer cut into blocks of `length` bytes; what is left over makes the last ones shorter or
    /// empty.
    static Blocks filled(std::uint32_t count, std::uint64_t bytes, std::uint64_t length) {
        Blocks blocks{count, length, 0, 1, {}};
        blocks.limit_ = bytes;
        return blocks;
    }

    /// @brief The ranks' blocks of an operation: its sizes where it has them, else equal ones.
    static Blocks of(const Operation &operation) {
        if (operation.sizes.size() == operation.size) {
            return {operation.size, 0, 0, 1, operation.sizes};
        }
        if (operation.total_bytes > 0) {
            return split(operation.size, operation.total_bytes, operation.element_bytes);
        }
        return equal(operation.size, operation.bytes);
    }

    /// @return first byte of a block; of block `count`, the end of the buffer
    std::uint64_t start(std::uint32_t block) const {
        if (!sizes_.empty()) {
            std::uint64_t sum = 0;
            for (std::uint32_t i = 0; i < block; ++i) {
                sum += sizes_[i];
            }
            return sum;
        }
        return std::min(limit_, (block * length_ + std::min<std::uint64_t>(block, longer_)) * element_);
    }

    std::uint64_t total() const { return start(count_); }

    /// @return bytes of `number` blocks from `first` on, going round at the end
    std::uint64_t bytes(std::uint32_t first, std::uint32_t number) const {
        const std::uint32_t end = first + number;
        return end <= count_ ? start(end) - start(first) : total() - start(first) + start(end - count_);
    }

  private:
    Blocks(std::uint32_t count, std::uint64_t length, std::uint64_t longer, std::uint64_t element,
           std::span<const std::uint64_t> sizes)
        : count_(count), length_(length), longer_(longer), element_(element), sizes_(sizes) {}

    std::uint32_t count_;
    std::uint64_t length_, longer_, element_;
    std::uint64_t limit_ = ~std::uint64_t{0};
    std::span<const std::uint64_t> sizes_;
};

} // namespace rankwise::collectives
