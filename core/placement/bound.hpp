// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "placement/mappers/grids.hpp"

namespace rankwise::placement {

/// @brief A value below which no placement with a slot of its own for each rank can be.
///
/// The sum of weight x distance is the sum over levels of (what the level adds to the distance) x (weight
/// that leaves the level's blocks), so each level is bounded by itself, by the larger of two bounds:
///
/// Degrees: of a rank's edges, all but the c - 1 heaviest leave its block, if blocks have up to c slots. Each
/// edge counts half at both ends, or whole at the end with more edges, whichever bound is larger.
///
/// Grids: if the vertices are points of a grid and edges are steps of a few kinds, the edges of one kind of
/// step inside a block are at most its points less the lines along the step that it touches. For d
/// independent steps, the product of these numbers of lines is at least (points of the block)^(d-1) (Loomis
/// and Whitney, An inequality related to the isoperimetric inequality, 1949), so that their weighted sum is
/// at least d (product of weights)^(1/d) points^((d-1)/d), least per point in the largest block. Boxes whose
/// sides are as the weights reach it.
///
/// @param[in] grid of the vertices; looked for in the graph if it is empty
double lower_bound(const Graph &graph, const Hierarchy &hierarchy, const Distances &distances,
                   const Extents &grid = {});

} // namespace rankwise::placement
