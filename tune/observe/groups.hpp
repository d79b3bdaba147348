// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace rankwise::tune {

/// @brief What ranks have in common that may change places: their job's launcher on this node, and the node
/// of a lab (RANKWISE_LAB_NODE) where they are on one.
/// @return as `mpiexec.1234` or `mpiexec.1234/n0`; without a launcher that is known, `session.1200`
std::string group_of(const std::string &proc, std::int32_t process);

} // namespace rankwise::tune
