// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "types.hpp"

namespace rankwise::tune {

/// @brief What a group's progress is told by. Time outside MPI is none of them: it grows where cores get
/// slower.
enum class RateOf { iterations, calls };

const char *name_of(RateOf what);

/// @brief Ranks that tell nothing of their job's progress: without a page, or that make no MPI calls.
using Silent = std::set<TaskId>;

/// @brief The best measure that all ranks of a group have: iterations, once each has ended one; else MPI
/// calls.
/// @param[in] without ranks that are left out
/// @return nothing where one of the others has no page, or none is left
std::optional<RateOf> measure_of(const Sample &sample, const std::string &group, const Silent &without = {});

/// @brief How a group got on between two samples.
struct Advance {
    enum What {
        told,
        waits, ///< a rank has ended no iteration, or made no call, yet
        anew,  ///< another thing is counted now
        others ///< ranks came, went, or are in MPI_Finalize
    } what = others;
    double rate = 0;         ///< of `told`: mean of the ranks'
    std::uint64_t least = 0; ///< of `told`: what the rank with fewest has counted
};

/// Iterations are counted from the end of one to the end of another, so that short windows have no rounding.
/// @param[in] without ranks that are left out
Advance advance_between(const Sample &before, const Sample &after, const std::string &group, RateOf what,
                        const Silent &without = {});

/// @brief The earliest moment at which a rank's last iteration ended; 0 where one has ended none.
/// @param[in] without ranks that are left out
Seconds last_ends(const Sample &sample, const std::string &group, const Silent &without = {});

/// @brief Of the ranks that are not left out, those that made no MPI call between two samples; none if none
/// made any.
Silent silent_between(const Sample &before, const Sample &after, const std::string &group,
                      const Silent &without);

/// @brief Part of the time between two samples that each rank was outside MPI, in order of ranks; empty where
/// one came or went. 0 of one without a page.
std::vector<double> outside_mpi(const Sample &before, const Sample &after, const std::string &group);

} // namespace rankwise::tune
