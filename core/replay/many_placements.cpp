// SPDX-License-Identifier: BSD-3-Clause
#include "replay/many_placements.hpp"

#include <algorithm>

#include "in_threads.hpp"
#include "replay/machine_replay.hpp"
#include "replay/static_pass.hpp"

namespace rankwise::replay {
std::vector<Picoseconds> makespans(const Schedule &schedule, const Matching &matching,
                                   const machine::Machine &machine, std::span<const machine::Layout> layouts,
                                   unsigned threads) {
    std::vector<Picoseconds> out(layouts.size());
    in_threads(layouts.size(), threads, [&](std::size_t k) {
        out[k] = replay_on_machine(schedule, matching, machine, layouts[k]).makespan();
    });
    return out;
}

std::vector<Picoseconds> screen(const Schedule &schedule, const Matching &matching,
                                const machine::Machine &machine, std::span<const machine::Layout> layouts,
                                unsigned threads) {
    if (layouts.empty())
        return {};
    ServiceOrder order;
    replay_on_machine(schedule, matching, machine, layouts.front(), order);
    LargeArray<Step> known;
    if (schedule.wildcards)
        known = steps_on_machine(schedule, matching, machine, layouts.front());
    const LargeArray<Step> &steps = schedule.wildcards ? known : matching.steps;
    constexpr std::size_t at_once = 8;
    std::vector<Picoseconds> out(layouts.size());
    in_threads((layouts.size() + at_once - 1) / at_once, threads, [&](std::size_t k) {
        const auto some = layouts.subspan(k * at_once, std::min(at_once, layouts.size() - k * at_once));
        const std::vector<Picoseconds> part = static_pass(schedule, steps, order, machine, some);
        std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(k * at_once));
    });
    return out;
}

} // namespace rankwise::replay
