// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/operation.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {

/// @brief What a rank is in an operation of an intercommunicator that has a root.
enum class Part : std::uint8_t {
    all,    ///< there is no root
    root,   ///< MPI_ROOT
    beside, ///< in the root's group: MPI_PROC_NULL
    across  ///< in the other group, where `Operation::root` is the root's rank
};

/// @brief Steps of one rank in a collective of an intercommunicator, in order of rounds.
///
/// As MPICH's algorithms for intercommunicators and Open MPI's component `inter` do it: what one group gives
/// goes to its first rank, from there to the first rank of the other group (or the root), and there to all;
/// within a group with the algorithm that is chosen for it. All-to-all messages, and those of long gathers
/// and scatters of MPICH, go directly.
///
/// @param[in]  operation rank and size are those in the rank's own group; receive_sizes is not looked at
/// @param[in]  others    ranks of the other group
/// @param[out] steps     overwritten; peers are ranks of the own group, then, from `operation.size` on, of
/// the other
void expand_between_groups(Library library, const Operation &operation, std::uint32_t others, Part part,
                           std::vector<CollectiveStep> &steps);

} // namespace rankwise::collectives
