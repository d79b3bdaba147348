// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/trace_schedule.hpp"

#include <limits>

namespace rankwise::replay {

Schedule schedule_from_trace(const TracedRun &run, const CommunicatorNodes &nodes, Omissions &omitted) {
    Tags tags;
    ScheduleBuilder builder(static_cast<std::uint32_t>(run.ranks.size()), "event");
    for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank)
        RankReader(run, nodes, rank, tags, builder, omitted).read(std::numeric_limits<std::uint32_t>::max());
    Schedule schedule = builder.finish();
    schedule.recorded = true;
    return schedule;
}

} // namespace rankwise::replay
