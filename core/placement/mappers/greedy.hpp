// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "placement/problem.hpp"

namespace rankwise::placement {

/// @brief A first placement by graph growing, level by level of the machine.
///
/// Ranks are divided among nodes, then each node's among its packages, and so on. A group grows from the
/// least connected rank left, always taking the rank that saves most by being inside. Every rank gets a slot
/// of its own; groups are filled in order, so that the last may stay partly empty.
///
/// @pre as many slots as ranks, or more
Placement grow(const Hierarchy &hierarchy, const CommMatrix &matrix);

} // namespace rankwise::placement
