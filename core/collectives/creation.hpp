// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "collectives/operation.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {

/// @brief The collectives that all ranks of a communicator go through, one after the other, when another one
/// is made of it; `rank` and `size` are left to the caller.
///
/// What each library does, and what is left out, is in docs/internals/collectives.md.
/// @param[in] function of MPI, as `MPI_Comm_split`
/// @param[in] reorder  the argument of that name
/// @return none if it is not known of this function
std::vector<Operation> creation_of(Library library, std::string_view function, bool reorder);

} // namespace rankwise::collectives
