// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "collectives/select.hpp"
#include "replay/schedule.hpp"
#include "trace/node_file.hpp"

namespace rankwise::replay {

/// What a trace holds that its schedule does not, as sentences with how often; nothing is left out silently.
using Omissions = std::map<std::string, std::uint64_t>;

/// @brief The schedule of a traced run: every rank's calls in program order with the computation between
/// them.
///
/// Computation is the recorded time between calls, less the part in which the rank waited in the run queue,
/// which is estimated from the samples of schedstat (formats/loggops.md, "From a trace"). Receives from any
/// source, MPI_Waitany and the like take what they took in the recording.
///
/// @param[in]  ranks    the first thread of each world rank, in order
/// @param[in]  library  whose choice of collective algorithms is followed
/// @param[out] omitted  what could not be taken over
/// @throws Error a rank has no trace, or its trace is cut short
Schedule schedule_from_trace(std::span<const trace::ThreadRecord *const> ranks, collectives::Library library,
                             Omissions &omitted);

} // namespace rankwise::replay
