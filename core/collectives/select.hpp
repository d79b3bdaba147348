// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "collectives/operation.hpp"

namespace rankwise::collectives {

enum class Library : std::uint8_t {
    mpich,
    mpich2,   ///< 1.0, of 2006, and MVAPICH2 made from it: does not look at nodes
    cray,     ///< Cray MPICH 8
    openmpi,  ///< 5.0
    openmpi_4 ///< 4.1, which does not look at nodes
};

/// @brief The algorithm a library takes by default for an operation of these sizes.
///
/// What is modelled of each library, and what is not, is in docs/internals/collectives.md.
/// @pre operation.collective is not a neighbourhood collective: those have no algorithm but direct messages
const Algorithm &select(Library library, const Operation &operation);

/// @brief MPICH 4 and 5, generic rules of its collective selection.
const Algorithm &select_mpich(const Operation &operation);

/// @brief MPICH2 1.0: Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in
/// MPICH" (2005).
const Algorithm &select_mpich2(const Operation &operation);

/// @brief Cray MPICH 8: what its manual page and the settings that it prints say of allgathers, allreduces,
/// broadcasts and alltoalls; MPICH's rules for the others.
const Algorithm &select_cray(const Operation &operation);

/// @brief Open MPI: fixed decisions of the `tuned` component (4.1 and 5.0), `libnbc` for nonblocking
/// operations; `han` (5.0) where nodes are given, of which several have a part.
const Algorithm &select_openmpi(const Operation &operation);

/// @brief Whether a library's choice or messages depend on which ranks share a node.
bool goes_by_nodes(Library library, Collective collective);

/// @brief One line of a decision table: taken if the communicator and the bytes are both below its limits.
struct Rule {
    std::uint32_t size_below;
    std::uint64_t bytes_below;
    std::string_view algorithm;
};

/// @return algorithm of the first line that applies, of the last one if none does
/// @pre there is a line
std::string_view decide(std::span<const Rule> rules, std::uint32_t size, std::uint64_t bytes);

} // namespace rankwise::collectives
