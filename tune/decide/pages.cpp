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
// One way. What the job does may be another thing by then.
constexpr Seconds longest_move = 120;

std::uint64_t pages_elsewhere(const RankLoad &rank, std::int32_t numa) {
    const std::uint64_t all = std::accumulate(rank.pages.on.begin(), rank.pages.on.end(), std::uint64_t{0});
    const auto at = static_cast<std::size_t>(numa);
    return all - (at < rank.pages.on.size() ? rank.pages.on[at] : 0);
}

Seconds time_of(const std::vector<Change::Pages> &moved, const Observation &observation) {
    double pages = 0;
    for (const Change::Pages &each : moved)
        for (const RankLoad &rank : observation.ranks)
            if (rank.process == each.process)
                pages += static_cast<double>(pages_elsewhere(rank, each.to_numa));
    return pages * page_bytes / bytes_per_s;
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
    const IterationTime before = iteration_time(problem, problem.current);
    IterationTime after = before;
    while (after.rank != placement::no_rank) {
        const auto rank = static_cast<std::size_t>(after.rank);
        const std::int32_t here = loads.memory[static_cast<std::size_t>(problem.current[rank])];
        const RankLoad &load = observation.ranks[rank];
        if (here < 0 || loads.home[rank] < 0 || loads.home[rank] == here || !load.pages.may_be_on(here))
            break;
        proposal.change.pages.push_back({load.process, loads.home[rank], here});
        proposal.ranks.push_back(load.rank);
        loads.home[rank] = here;
        after = iteration_time(problem, problem.current);
    }
    const Seconds takes = time_of(proposal.change.pages, observation);
    if (proposal.change.empty() || takes > longest_move)
        return std::nullopt;
    proposal.gain =
        std::clamp(gain_of(before.seconds, after.seconds) - times_moved * takes / goes_on, 0.0, 0.99);
    for (const RankLoad &rank : observation.ranks)
        proposal.mapping.push_back(rank.mask);
    const Change::Pages &first = proposal.change.pages.front();
    proposal.why = name_of(observation.ranks[static_cast<std::size_t>(before.rank)]) +
                   " has its pages on NUMA node " + std::to_string(first.from_numa) +
                   ", and its cores on node " + std::to_string(first.to_numa);
    return proposal;
}

std::optional<Proposal> decide_spread(const Observation &observation, const Node &node, const PuSet &allowed,
                                      double worth, Seconds goes_on) {
    if (observation.memory_bytes_per_s.empty() || goes_on <= 0)
        return std::nullopt;
    Problem problem = make_problem(observation, node, allowed);
    if (!problem.refused.empty() || !problem.bound || problem.memories.empty())
        return std::nullopt;
    const Memories &memories = problem.memories;
    for (const RankLoad &rank : observation.ranks)
        problem.taken_along.push_back(rank.pages);
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank)
        problem.loads.demand.push_back(memories.at_work[rank] * memories.waits[rank] *
                                       memories.of_node.per_core / memories.of_node.capacity);
    const std::vector<placement::Slot> to = better_slots(problem, worth);
    Proposal proposal;
    proposal.mapping = mapping_of(problem, to);
    proposal.change = change_to(observation, proposal.mapping);
    double most = 1;
    for (std::size_t rank = 0; rank < to.size(); ++rank) {
        const RankLoad &load = observation.ranks[rank];
        if (load.mask == proposal.mapping[rank])
            continue;
        proposal.ranks.push_back(load.rank);
        const std::int32_t there = home_of(problem, rank, to[rank]);
        if (load.home < 0 || there < 0 || there == load.home)
            continue;
        proposal.change.pages.push_back({load.process, load.home, there});
        if (memories.now[rank] > most) {
            most = memories.now[rank];
            proposal.why = name_of(load) + " loses " + percent(1 - 1 / most) +
                           " of its computation to others that use the memory of NUMA node " +
                           std::to_string(load.home) + "; node " + std::to_string(there) + " has more left";
        }
    }
    // Nobody is moved with all pages who does not lose as much as a change is worth.
    const Seconds takes = time_of(proposal.change.pages, observation);
    if (proposal.change.pages.empty() || takes > longest_move || 1 - 1 / most < worth)
        return std::nullopt;
    const double before = iteration_time(problem, problem.current).seconds,
                 after = iteration_time(problem, to).seconds;
    proposal.gain = std::clamp(gain_of(before, after) - times_moved * takes / goes_on, 0.0, 0.99);
    return proposal;
}

} // namespace rankwise::tune
