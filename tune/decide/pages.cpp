// SPDX-License-Identifier: BSD-3-Clause
#include "decide/pages.hpp"

#include <algorithm>
#include <numeric>

#include "decide/problem.hpp"

namespace rankwise::tune {

namespace {

constexpr double page_bytes = 4096;
// What move_pages(2) copies, half of the time paused. Assumed.
constexpr double bytes_per_s = 5e8;
// They go, come back to be measured without it, and go again.
constexpr double times_moved = 3;

std::uint64_t pages_elsewhere(const RankLoad &rank, std::int32_t numa) {
    const std::uint64_t all = std::accumulate(rank.pages.begin(), rank.pages.end(), std::uint64_t{0});
    const auto at = static_cast<std::size_t>(numa);
    return all - (at < rank.pages.size() ? rank.pages[at] : 0);
}

} // namespace

std::optional<Proposal> decide_pages(const Observation &observation, const Node &node, const PuSet &allowed,
                                     Seconds goes_on) {
    Problem problem = make_problem(observation, node, allowed);
    placement::Loads &loads = problem.loads;
    if (!problem.refused.empty() || !problem.bound || loads.home.empty() || loads.memory.empty() ||
        goes_on <= 0)
        return std::nullopt;
    Proposal proposal;
    double pages = 0;
    const IterationTime before = iteration_time(problem, problem.current);
    IterationTime after = before;
    while (after.rank != placement::no_rank) {
        const auto rank = static_cast<std::size_t>(after.rank);
        const std::int32_t here = loads.memory[static_cast<std::size_t>(problem.current[rank])];
        if (here < 0 || loads.home[rank] < 0 || loads.home[rank] == here)
            break;
        const RankLoad &load = observation.ranks[rank];
        proposal.change.pages.push_back({load.process, loads.home[rank], here});
        proposal.ranks.push_back(load.rank);
        pages += static_cast<double>(pages_elsewhere(load, here));
        loads.home[rank] = here;
        after = iteration_time(problem, problem.current);
    }
    if (proposal.change.empty())
        return std::nullopt;
    const double costs = times_moved * pages * page_bytes / bytes_per_s / goes_on;
    proposal.gain =
        std::clamp((before.seconds - after.seconds) / std::max(before.seconds, 1.0) - costs, 0.0, 0.99);
    for (const RankLoad &rank : observation.ranks)
        proposal.mapping.push_back(rank.mask);
    const Change::Pages &first = proposal.change.pages.front();
    proposal.why = name_of(observation.ranks[static_cast<std::size_t>(before.rank)]) +
                   " has its pages on NUMA node " + std::to_string(first.from_numa) +
                   ", and its cores on node " + std::to_string(first.to_numa);
    return proposal;
}

} // namespace rankwise::tune
