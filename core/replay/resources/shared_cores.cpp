// SPDX-License-Identifier: BSD-3-Clause
#include "replay/resources/shared_cores.hpp"

namespace rankwise::replay {
SharedCores::SharedCores(const Schedule &schedule, const machine::Machine &machine,
                         const machine::Placement &placement) {
    if (machine.core_sharing == machine::CoreSharing::none)
        return;
    std::vector<std::uint32_t> users(placement.capacity.size(), 0), core(placement.capacity.size(), any);
    for (const std::uint32_t processor : placement.processor)
        ++users[processor];
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        const std::uint32_t processor = placement.processor[r];
        if (users[processor] <= placement.capacity[processor])
            continue;
        if (core_of.empty())
            core_of.assign(schedule.ranks(), any);
        if (core[processor] == any) {
            core[processor] = static_cast<std::uint32_t>(cores.size());
            cores.emplace_back(placement.capacity[processor],
                               machine.core_sharing == machine::CoreSharing::spin);
            unfinished.push_back(0);
        }
        core_of[r] = core[processor];
        unfinished[core_of[r]] += schedule.first[r + 1] > schedule.first[r];
    }
    for (std::size_t c = 0; c < cores.size(); ++c)
        cores[c].set_unfinished(0, unfinished[c]);
}

} // namespace rankwise::replay
