// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace rankwise::tune {

/// @brief What ranks have in common that may change places: their job's launcher on this node, user, number
/// of ranks and control groups, and the node of a lab (RANKWISE_LAB_NODE) where they are on one.
/// @param[in] ranks  of the job; 0: not known
/// @param[in] in_lab ask for a node of a lab. A process' environment is in memory of its own: whoever reads
///                   it may wait for ever, if its user wants so
/// @return as `mpiexec.1234/user-1000/ranks-16/cgroup-5b8cd1f0` and, in a lab, `/n0`; without a launcher that
///         is known, it begins with `session.1200`
std::string group_of(const std::string &proc, std::int32_t process, std::int32_t ranks, bool in_lab);

} // namespace rankwise::tune
