// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "collectives/algorithms/blocks.hpp"
#include "collectives/operation.hpp"

namespace rankwise::collectives {

/// @brief Scatter over the binomial tree with blocks of any layout, in the order root, root + 1, ...
/// @param[in] skip_empty leave out messages without bytes, as the scattering half of a broadcast does
void scatter_blocks(const Operation &operation, const Blocks &blocks, bool skip_empty, Writer &writer);

/// @brief Ring: everyone passes on the block it got last. @param[in] shift rank of the owner of block 0
void ring_blocks(const Operation &operation, const Blocks &blocks, std::uint32_t shift, Writer &writer);

/// @brief Recursive doubling; ranks without a partner are handed on to. @param[in] shift rank of the owner of
/// block 0
void doubling_blocks(const Operation &operation, const Blocks &blocks, std::uint32_t shift, Writer &writer);

} // namespace rankwise::collectives
