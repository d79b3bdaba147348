// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "collectives/operation.hpp"

namespace rankwise::collectives {

/// @return every algorithm there is
std::span<const Algorithm> algorithms();

/// @return the algorithm of that name for an operation
/// @throws Error if there is none
const Algorithm &find_algorithm(Collective collective, std::string_view name);

/// @brief Steps of one rank, in order of rounds.
///
/// An operation of one rank, or without data (and not a barrier), has none: the libraries return at once.
/// @param[out] steps overwritten
void expand(const Algorithm &algorithm, const Operation &operation, std::vector<CollectiveStep> &steps);

} // namespace rankwise::collectives
