// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "decide/observation.hpp"
#include "machine/resources.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief What ranks ask of the memories that have their pages, by M8 of formats/loggops.md.
///
/// It needs traffic that is counted, and a machine file that says what a memory has and what a core asks for.
/// Without one of them it is empty, and nothing is estimated of memories.
struct Memories {
    machine::Bandwidth of_node;  ///< of one NUMA node
    std::vector<double> at_work; ///< of each rank, how many cores compute for it, in the mean
    /// Of each rank, the part of its computation alone in which it waits for memory: the least that explains
    /// what was counted.
    std::vector<double> waits;
    std::vector<double> others; ///< of each NUMA node, bytes a second that are no ranks'
    std::vector<double> now;    ///< of each rank, how many times longer it computes than alone

    bool empty() const { return at_work.empty(); }
};

/// @brief What was counted at the caches of a NUMA node is of those that used its processors, by how much
/// they did: ranks as far as they compute, and others. What was counted at a memory is of those that have
/// their pages there. Assumed, as nobody counts it by process.
/// @param[in] runs_on of each rank, the NUMA node of its cores
/// @param[in] homes of each rank, the one that has its pages; -1 where that is not known: then what it moves
/// counts as others', and nothing slows it
/// @param[in] at_work of each rank, how many cores compute for it, in the mean
Memories memories_of(const Observation &observation, const Node &node,
                     const std::vector<std::int32_t> &runs_on, const std::vector<std::int32_t> &homes,
                     std::vector<double> at_work);

/// @return of each rank, how many times longer it computes than alone, if its pages are there
std::vector<double> slowed_by_memory(const Memories &memories, const std::vector<std::int32_t> &homes);

} // namespace rankwise::tune
