// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "types.hpp"

namespace rankwise::tune {

/// @brief What a group's progress is told by.
enum class RateOf { iterations, calls, computation };

const char *name_of(RateOf what);

/// @brief The best measure that all ranks of a group have between two samples: iterations; else MPI calls;
/// else seconds outside MPI.
/// @return nothing if there is none
std::optional<RateOf> measure_for(const Sample &before, const Sample &after, const std::string &group);

/// @brief Mean of the ranks' rates between two samples.
///
/// Iterations are counted from the end of one to the end of another, so that short windows have no rounding.
///
/// @return nothing where a rank came, went, was suspended, or ended no iteration
std::optional<double> rate_between(const Sample &before, const Sample &after, const std::string &group,
                                   RateOf what);

/// @brief Part of the time between two samples that each rank was outside MPI; empty where one came or went.
std::vector<double> outside_mpi(const Sample &before, const Sample &after, const std::string &group);

} // namespace rankwise::tune
