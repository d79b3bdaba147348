// SPDX-License-Identifier: BSD-3-Clause
#include "replay/shared_cores.hpp"

#include <algorithm>
#include <numeric>

namespace rankwise::replay {
namespace {

std::uint32_t root(const std::vector<std::uint32_t> &domain, std::uint32_t node) {
    while (domain[node] != node)
        node = domain[node];
    return node;
}

} // namespace

SharedCores::SharedCores(const Schedule &schedule, const machine::Machine &machine,
                         const machine::Layout &layout)
    : domain(layout.nodes()) {
    std::iota(domain.begin(), domain.end(), 0);
    if (machine.core_sharing == machine::CoreSharing::none)
        return;
    std::vector<std::uint32_t> users(layout.capacity.size(), 0), core(layout.capacity.size(), any), node;
    for (const std::uint32_t processor : layout.processor)
        ++users[processor];
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        const std::uint32_t processor = layout.processor[r];
        if (users[processor] <= layout.capacity[processor])
            continue;
        if (core_of.empty())
            core_of.assign(schedule.ranks(), any);
        if (core[processor] == any) {
            core[processor] = static_cast<std::uint32_t>(cores.size());
            cores.emplace_back(layout.capacity[processor]);
            spinning.push_back(0);
            node.push_back(layout.node[r]);
        }
        core_of[r] = core[processor];
        spinning[core_of[r]] += schedule.first[r + 1] > schedule.first[r];
        const std::uint32_t a = root(domain, node[core_of[r]]), b = root(domain, layout.node[r]);
        domain[std::max(a, b)] = std::min(a, b);
    }
    if (machine.core_sharing == machine::CoreSharing::spin)
        for (std::size_t c = 0; c < cores.size(); ++c)
            cores[c].set_spinning(0, spinning[c]);
    for (std::uint32_t n = 0; n < domain.size(); ++n)
        domain[n] = root(domain, n);
}

} // namespace rankwise::replay
