// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "placement/hierarchy.hpp"

namespace rankwise::placement {

/// Extent of each dimension of a grid, that of consecutive ranks first.
using Extents = std::vector<std::int64_t>;

/// @brief Grids of one to three dimensions that the numbers of a graph's vertices look like, the likeliest
/// first.
///
/// A grid is suggested by differences of neighbours' numbers that divide the number of vertices, and is the
/// likelier the nearer neighbours are in it: by steps, wrapping round, and last the one in which they differ
/// in the fewest dimensions, as the members of rows and columns do.
std::vector<Extents> suggested_grids(const Graph &graph, std::size_t most);

/// @brief How many steps neighbours are apart in a grid that wraps round, the mean by weight; 0 without
/// edges.
double mean_steps(const Graph &graph, const Extents &extents);

/// @brief Ranks in an order that keeps neighbours of a grid together, to be dealt to the nodes one after the
/// other.
///
/// The grid is cut into strips (or columns, in three dimensions) along each of its dimensions, as wide as
/// saves most, and these are walked to and fro, so that nodes whose size is no box of the grid still get
/// nearly one. Rows that do not fit a node may leave their rests for last.
///
/// @param[in] extents of a grid of two or three dimensions with as many points as ranks
/// @return slot of each rank
std::vector<Slot> strips(const Graph &graph, const Hierarchy &hierarchy, const Extents &extents);

} // namespace rankwise::placement
