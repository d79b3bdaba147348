// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "decide/problem.hpp"

namespace rankwise::tune {

namespace {

using placement::Rank;
using placement::Slot;

/// What a rank computes on a slot, without others on its core.
/// @param[in] longer of each rank, because of those that use the same memory; empty: nobody
double computes(const Problem &problem, const std::vector<double> &longer, std::size_t rank, Slot on) {
    const placement::Loads &loads = problem.loads;
    const auto slot = static_cast<std::size_t>(on);
    double by = 1 / loads.capability[slot];
    if (const std::int32_t home = home_of(problem, rank, on); home >= 0 && home != loads.memory[slot])
        by += loads.away;
    return loads.computation[rank] * by * (longer.empty() ? 1 : longer[rank]);
}

/// Of each rank, how many times longer it computes than it does now, because of those that use the same
/// memory.
std::vector<double> longer_than_now(const Problem &problem, const std::vector<Slot> &slots) {
    if (problem.memories.empty())
        return {};
    std::vector<std::int32_t> homes;
    homes.reserve(slots.size());
    for (std::size_t rank = 0; rank < slots.size(); ++rank)
        homes.push_back(home_of(problem, rank, slots[rank]));
    std::vector<double> longer = slowed_by_memory(problem.memories, homes);
    for (std::size_t rank = 0; rank < longer.size(); ++rank)
        longer[rank] /= problem.memories.now[rank];
    return longer;
}

/// Half of what its messages cost: the other half is its partners'.
double exchanges(const Problem &problem, const std::vector<Slot> &slots, std::size_t rank) {
    const placement::CommMatrix &matrix = problem.matrix;
    const auto width = static_cast<std::size_t>(problem.hierarchy.levels) + 1;
    const auto capability = [&](Slot slot) {
        return problem.loads.capability[static_cast<std::size_t>(slot)];
    };
    double seconds = 0;
    for (auto entry = static_cast<std::size_t>(matrix.offsets[rank]);
         entry < static_cast<std::size_t>(matrix.offsets[rank + 1]); ++entry) {
        const Slot here = slots[rank], there = slots[static_cast<std::size_t>(matrix.neighbour[entry])];
        const auto level = static_cast<std::size_t>(problem.hierarchy.level(here, there));
        seconds += 0.5 * static_cast<double>(matrix.cost[entry * width + level]) /
                   std::min(capability(here), capability(there));
    }
    return seconds;
}

} // namespace

IterationTime iteration_time(const Problem &problem, const std::vector<Slot> &slots, double enough) {
    const placement::Loads &loads = problem.loads;
    const std::vector<double> longer = longer_than_now(problem, slots);
    const auto core_of = [&](std::size_t rank) {
        return loads.core.empty() ? -1 : loads.core[static_cast<std::size_t>(slots[rank])];
    };
    struct Core {
        double computation = 0;
        int ranks = 0;
    };
    std::vector<Core> cores; // by number
    if (!loads.core.empty())
        cores.resize(static_cast<std::size_t>(*std::ranges::max_element(loads.core)) + 1);
    for (std::size_t rank = 0; rank < slots.size(); ++rank)
        if (const std::int32_t core = core_of(rank); core >= 0) {
            cores[static_cast<std::size_t>(core)].computation += loads.computation[rank];
            ++cores[static_cast<std::size_t>(core)].ranks;
        }
    IterationTime longest;
    for (std::size_t rank = 0; rank < slots.size() && longest.seconds < enough; ++rank) {
        // Others do not wait for one that takes no part in it.
        if (problem.stays[rank])
            continue;
        const Slot here = slots[rank];
        const double own = computes(problem, longer, rank, here);
        double seconds = own;
        if (const std::int32_t number = core_of(rank); number >= 0)
            if (const Core &core = cores[static_cast<std::size_t>(number)]; core.ranks > 1)
                seconds = std::max(seconds, core.computation / loads.core_yield);
        for (const Rank other : loads.in_step[rank]) {
            const auto partner = static_cast<std::size_t>(other);
            const double a = loads.capability[static_cast<std::size_t>(here)],
                         b = loads.capability[static_cast<std::size_t>(slots[partner])];
            const double unequal = 1 - std::min(a, b) / std::max(a, b);
            seconds = std::max(seconds,
                               std::max(own, computes(problem, longer, partner, slots[partner])) +
                                   unequal * std::min(loads.computation[rank], loads.computation[partner]));
        }
        seconds += exchanges(problem, slots, rank);
        if (seconds > longest.seconds)
            longest = {seconds, static_cast<Rank>(rank)};
    }
    return longest;
}

} // namespace rankwise::tune
