// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <istream>
#include <string>
#include <utility>
#include <vector>

#include "job.hpp"
#include "tuner.hpp"

namespace rankwise::tune::simulated {

/// @brief What a test asks for, line by line:
///
///     node packages 2 cores 64 smt 2 l3_of 8      cores of a package; `memory` and `core_memory`: bytes a
///                                                 second of a NUMA node, and what a core asks for
///     policy act 1 window 0.1 ...                 members of Policy
///     seed 7
///     job NAME pus 0,1,2,3 compute 0.01,0.01,... pattern ring bytes 1e4 ...    a processing unit a rank, or
///                                                 `on 0-7` for ranks that are not bound, or `masks 0-1/2/3`;
///                                                 `home` and `bound`: NUMA nodes that have ranks' pages, and
///                                                 that a memory policy binds them to; -1 for none
///     at SECONDS WHAT ...                         SimulatedSystem::happen
///     until SECONDS
///     best NAME                                   of `simulate best`: the job
struct Scenario {
    Node node;
    Policy policy;
    std::uint64_t seed = 1;
    std::vector<Job> jobs;
    std::vector<std::pair<Seconds, std::string>> events; ///< in order of their moments
    Seconds until = 60;
    std::string best_of; ///< a job
};

/// @throws Error
Scenario read_scenario(std::istream &from);

} // namespace rankwise::tune::simulated
