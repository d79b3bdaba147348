// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collectives/select.hpp"
#include "schedule/schedule.hpp"

extern "C" {
#include "comm_dry.h"
}

/// Seconds of one call: the sum of these times 1, m, n, k, mn, mk, nk, mnk, mmn.
using KernelTerms = std::array<double, 9>;

/// @brief What computation takes.
struct ComputationCost {
    double seconds_per_operation = 0;
    /// By `comm_kernel`, of each rank, or one for all. Kernels that are not there take their operations.
    std::map<int, std::vector<KernelTerms>> kernels;
    std::vector<double> start; ///< seconds before each rank's program begins; empty: 0
};

/// @brief What each rank of a workload does, as a schedule, from the dry runs of its ranks.
/// @pre workload_accepts, iterations not 0
rankwise::replay::Schedule workload_schedule(const workload &chosen, const problem &asked, int ranks,
                                             rankwise::collectives::Library library,
                                             const ComputationCost &cost);
