// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "placement/mappers/grids.hpp"

namespace rankwise::placement {

/// @brief A grid whose points were numbered in any order.
struct RenumberedGrid {
    Extents extents;         ///< of two or three dimensions
    std::vector<Rank> order; ///< the vertex at each point, first dimension first
};

/// @brief Find out whether a graph is a grid by its edges alone, whatever the numbers of its vertices.
///
/// The heaviest edges (those of one to three weights, or all) are taken to be steps along the grid's
/// dimensions. Two neighbours of a vertex are in different dimensions if they have another neighbour in
/// common, the fourth corner of a square; the directions of one vertex tell those of its neighbours in that
/// way, and so on. In the end each vertex must have a point of its own, and each step must lead to the next
/// point. Dimensions that wrap round must have five points or more.
///
/// @return nothing if it is none
std::optional<RenumberedGrid> find_renumbered_grid(const Graph &graph);

} // namespace rankwise::placement
