// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/hierarchy.hpp"

namespace rankwise::placement {

/// @brief One digit of a rank's number: rank / place % radix.
struct Digit {
    std::int32_t radix = 2;
    std::int64_t place = 1;
};

struct Tiling {
    std::vector<Slot> slot; ///< of each rank
    double saved = 0; ///< against all edges between nodes, estimated if only some vertices were looked at
};

/// @brief The best way to give each level of a machine some digits of the rank numbers, out of all ways there
/// are.
///
/// If the number of ranks is a product of digits' radices, a block is the set of ranks that agree in all
/// digits but the block's own. Boxes of a grid are such blocks (each dimension's number is some of the
/// digits), so are strided ones, rows and columns, subcubes of a hypercube. For every set of digits, what
/// stays inside its blocks is the weight of the edges whose ends differ in these digits only: one sum over
/// subsets (Yates 1937) gives all of them, and a pass over chains of sets, smallest blocks first, the least
/// sum of weight x distance. Exact for all weights.
///
/// @param[in] digits all of them, places ascending; at most 20
/// @param[in] every    look at the edges of about one vertex in this many
/// @return nothing where the blocks' sizes are no products of radices, or the ranks do not fill
///         whole nodes
std::optional<Tiling> tile(const Graph &graph, std::span<const std::int32_t> arity,
                           const Distances &distances, std::span<const Digit> digits,
                           std::uint32_t every = 1);

/// @brief The best tiling over all orders of each dimension's prime factors: boxes of all shapes are among
/// them.
/// @param[in] dimensions of the grid, fastest first
std::optional<Tiling> tile_grid(const Graph &graph, std::span<const std::int32_t> arity,
                                const Distances &distances, std::span<const std::int64_t> dimensions);

} // namespace rankwise::placement
