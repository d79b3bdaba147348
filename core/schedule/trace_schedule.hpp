// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "schedule/rank_reader.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief The schedule of a traced run: every rank's calls in program order with the computation between
/// them.
///
/// Computation is the recorded time between calls, less the part in which the rank waited in the run queue,
/// which is estimated from the samples of schedstat (docs/internals/schedules.md, "Computation"). Receives
/// from any source, MPI_Waitany and the like take what they took in the recording.
///
/// @param[in]  nodes   where collectives go by who shares a node
/// @param[out] omitted what could not be taken over
Schedule schedule_from_trace(const TracedRun &run, const CommunicatorNodes &nodes, Omissions &omitted);

} // namespace rankwise::replay
