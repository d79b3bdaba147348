// SPDX-License-Identifier: BSD-3-Clause
#include "decide/proposal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "decide/problem.hpp"
#include "placement/mappers/refine.hpp"
#include "placement/time_estimate.hpp"

namespace rankwise::tune {

namespace {

using placement::Rank;
using placement::Slot;
using placement::TimeEstimate;

constexpr std::size_t few_ranks = 16;
constexpr int starts = 16;
constexpr int most_swaps = 8;

struct Exchange {
    Slot a = -1, b = -1;
    double change = 0;
};

Exchange best_exchange(const TimeEstimate &estimate, const Problem &problem, const std::vector<Slot> &slots) {
    Exchange best;
    for (const Slot a : slots)
        for (Slot b = 0; b < problem.hierarchy.count(); ++b) {
            // Pairs of ranks come twice.
            if (b == a ||
                (estimate.placement().rank[static_cast<std::size_t>(b)] != placement::no_rank && b < a))
                continue;
            if (const double change = estimate.swap_change(a, b); change < best.change)
                best = {a, b, change};
        }
    return best;
}

void search(TimeEstimate &estimate, const Problem &problem) {
    placement::RefineOptions options;
    options.keep_nodes = true;
    placement::refine(estimate, problem.hierarchy, problem.matrix, options);
    // It does not look at all pairs.
    for (int swaps = 0; swaps < most_swaps; ++swaps) {
        const Exchange best = best_exchange(estimate, problem, estimate.placement().slot);
        if (best.change >= -1e-9 * estimate.value())
            return;
        estimate.swap(best.a, best.b);
    }
}

/// Seconds saved by second; of what is more than a second, the sum of many ranks' powers, its part.
double gain_of(double before, double after) {
    return (before - after) / std::max(before, 1.0);
}

std::string percent(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
    return text;
}

std::string named(const RankLoad &rank) {
    return rank.rank >= 0 ? "rank " + std::to_string(rank.rank)
                          : "process " + std::to_string(rank.process.number);
}

/// What a rank's core has less or more than that of the partner that is most unlike it, by the larger; and
/// who that is.
std::pair<double, Rank> unequal(const Problem &problem, const std::vector<Slot> &slots, std::size_t rank) {
    std::pair<double, Rank> most{0, placement::no_rank};
    for (const Rank other : problem.loads.in_step[rank]) {
        const double here = problem.loads.capability[static_cast<std::size_t>(slots[rank])],
                     there =
                         problem.loads
                             .capability[static_cast<std::size_t>(slots[static_cast<std::size_t>(other)])];
        most = std::max(most, {1 - std::min(here, there) / std::max(here, there), other});
    }
    return most;
}

double longest_computation(const Problem &problem, const std::vector<Slot> &slots) {
    double longest = 0;
    for (std::size_t rank = 0; rank < slots.size(); ++rank)
        longest = std::max(longest, problem.loads.computation[rank] /
                                        problem.loads.capability[static_cast<std::size_t>(slots[rank])]);
    return longest;
}

/// The rank that most of the gain is for: what it does where it is now, and what is better elsewhere.
std::string reason(const Observation &observation, const Problem &problem, const std::vector<Slot> &to) {
    std::size_t busiest = 0, moved = 0;
    double most = -1, least = 2;
    bool any = false;
    for (std::size_t rank = 0; rank < to.size(); ++rank) {
        if (to[rank] == problem.current[rank])
            continue;
        any = true;
        const double load = problem.loads.computation[rank] /
                            problem.loads.capability[static_cast<std::size_t>(problem.current[rank])];
        if (load > most) {
            most = load;
            busiest = rank;
        }
        if (load < least) {
            least = load;
            moved = rank;
        }
    }
    if (!any)
        return "ranks share processing units";
    const RankLoad &first = observation.ranks[busiest], &second = observation.ranks[moved];
    const auto here = static_cast<std::size_t>(problem.current[busiest]);
    const double before = problem.loads.capability[here],
                 after = problem.loads.capability[static_cast<std::size_t>(to[busiest])];
    const std::string unit = list_text(problem.slots[here]);
    for (std::size_t rank = 0; rank < to.size(); ++rank) {
        const auto [apart, partner] = unequal(problem, problem.current, rank);
        if (to[rank] != problem.current[rank] && apart > 0.05 &&
            unequal(problem, to, rank).first < apart / 2 &&
            longest_computation(problem, to) > 0.98 * longest_computation(problem, problem.current))
            return named(observation.ranks[rank]) + " and " +
                   named(observation.ranks[static_cast<std::size_t>(partner)]) +
                   " exchange large messages from cores of unequal capability, out of phase: one gives " +
                   percent(1 - apart) + " of the other";
    }
    if (after > 1.02 * before) {
        std::string why = named(first) + " is outside MPI " + percent(first.outside_mpi) +
                          " of its time on PU " + unit +
                          ", of which interrupts, other processes or a low clock take " + percent(1 - before);
        if (moved != busiest)
            why += "; " + named(second) + " waits " + percent(second.waits);
        return why;
    }
    if (!problem.loads.core.empty() &&
        problem.loads.core[here] != problem.loads.core[static_cast<std::size_t>(to[busiest])])
        return named(first) + " shares a core with another busy rank";
    if (!problem.loads.home.empty() && problem.loads.home[busiest] >= 0 &&
        problem.loads.home[busiest] != problem.loads.memory[here])
        return named(first) + " has its pages on another NUMA node";
    return named(first) + " gets nearer to the ranks that it exchanges messages with";
}

Mapping mapping_of(const Problem &problem, const std::vector<Slot> &slots) {
    Mapping mapping;
    for (const Slot slot : slots)
        mapping.push_back(problem.slots[static_cast<std::size_t>(slot)]);
    return mapping;
}

} // namespace

std::string list_text(const PuSet &pus) {
    std::string text;
    for (std::size_t pu = pus._Find_first(); pu < most_pus; pu = pus._Find_next(pu))
        text += (text.empty() ? "" : ",") + std::to_string(pu);
    return text;
}

std::optional<Proposal> decide_interrupt(const Observation &observation, const Node &node,
                                         const PuSet &allowed, const PuSet &free) {
    Problem problem = make_problem(observation, node, allowed);
    if (!problem.refused.empty() || !problem.bound)
        return std::nullopt;
    const auto time = [&] {
        return TimeEstimate(problem.hierarchy, problem.matrix, problem.loads,
                            placement::make_placement(problem.current, problem.hierarchy.count()))
            .value();
    };
    // The rank that loses most.
    std::size_t most = 0;
    double lost = 0;
    for (std::size_t rank = 0; rank < problem.current.size(); ++rank) {
        const PuSet &units = problem.slots[static_cast<std::size_t>(problem.current[rank])];
        const PuLoad &load = observation.pus.at(static_cast<std::int32_t>(units._Find_first()));
        if (const double here = load.interrupts * problem.loads.computation[rank];
            load.line >= 0 && here > lost) {
            lost = here;
            most = rank;
        }
    }
    if (lost <= 0)
        return std::nullopt;
    const auto from = static_cast<std::size_t>(problem.current[most]);
    const auto unit = static_cast<std::int32_t>(problem.slots[from]._Find_first());
    const PuLoad &load = observation.pus.at(unit);
    const double before = time();
    problem.loads.capability[from] += load.interrupts / static_cast<double>(problem.slots[from].count());
    double least = before;
    std::int32_t best = -1;
    for (const Pu &pu : node.pus) {
        const auto at = observation.pus.find(pu.os);
        if (pu.os == unit || at == observation.pus.end() || !at->second.online)
            continue;
        const auto slot = std::find_if(problem.slots.begin(), problem.slots.end(), [&](const PuSet &units) {
            return units.test(static_cast<std::size_t>(pu.os));
        });
        if (slot == problem.slots.end() && !free.test(static_cast<std::size_t>(pu.os)))
            continue; // another group's
        double after = 0;
        if (slot == problem.slots.end())
            after = time();
        else {
            double &capability =
                problem.loads.capability[static_cast<std::size_t>(slot - problem.slots.begin())];
            const double had = capability;
            capability = std::max(had - load.interrupts / static_cast<double>(slot->count()), 0.05);
            after = time();
            capability = had;
        }
        if (after < least) {
            least = after;
            best = pu.os;
        }
    }
    if (best < 0)
        return std::nullopt;
    Proposal proposal;
    PuSet to;
    to.set(static_cast<std::size_t>(best));
    proposal.change.interrupts.push_back({load.line, to});
    for (const RankLoad &rank : observation.ranks)
        proposal.mapping.push_back(rank.mask);
    proposal.gain = std::clamp(gain_of(before, least), 0.0, 0.99);
    proposal.ranks = {observation.ranks[most].rank};
    proposal.why = named(observation.ranks[most]) + " computes on PU " + std::to_string(unit) +
                   ", of which interrupts take " + percent(load.interrupts) + "; PU " + std::to_string(best) +
                   " can serve interrupt " + std::to_string(load.line);
    return proposal;
}

Change change_to(const Observation &observation, const Mapping &mapping) {
    Change change;
    for (std::size_t rank = 0; rank < mapping.size(); ++rank)
        if (observation.ranks[rank].mask != mapping[rank])
            change.moves.push_back(
                {observation.ranks[rank].process, observation.ranks[rank].mask, mapping[rank]});
    return change;
}

double estimate(const Observation &observation, const Node &node, const PuSet &allowed,
                const Mapping &mapping) {
    const Problem problem = make_problem(observation, node, allowed);
    std::vector<Slot> slots;
    for (const PuSet &units : mapping)
        slots.push_back(static_cast<Slot>(std::find(problem.slots.begin(), problem.slots.end(), units) -
                                          problem.slots.begin()));
    return TimeEstimate(problem.hierarchy, problem.matrix, problem.loads,
                        placement::make_placement(slots, problem.hierarchy.count()))
        .value();
}

Decision decide(const Observation &observation, const Node &node, const PuSet &allowed, double worth) {
    Decision decision;
    const Problem problem = make_problem(observation, node, allowed);
    if (!problem.refused.empty()) {
        decision.refused = problem.refused;
        return decision;
    }
    if (std::none_of(observation.ranks.begin(), observation.ranks.end(),
                     [](const RankLoad &rank) { return rank.mpi_known; }) &&
        observation.ranks.size() > 1) {
        decision.refused = "nothing tells when its ranks wait: start it under `rankwise tune -- ...`";
        return decision;
    }
    TimeEstimate now(problem.hierarchy, problem.matrix, problem.loads,
                     placement::make_placement(problem.current, problem.hierarchy.count()));
    const double before = now.value();
    // Ranks that wait for a processor though there are enough of them.
    double crowded = 0;
    for (const RankLoad &rank : observation.ranks)
        crowded = std::max(crowded, problem.bound ? 0 : rank.queued);
    std::vector<Slot> to = problem.current;
    double after = before;
    if (const Exchange exchange = best_exchange(now, problem, problem.current);
        problem.bound && exchange.change < 0 && gain_of(before, before + exchange.change) >= worth) {
        now.swap(exchange.a, exchange.b);
        to = now.placement().slot;
        after = now.value();
    } else {
        // What the search ends at depends on where it begins: few ranks are searched from several mappings.
        std::vector<Slot> begin = problem.current;
        std::mt19937_64 random(1);
        for (int start = 0; start == 0 || (begin.size() <= few_ranks && start < starts); ++start) {
            TimeEstimate tried(problem.hierarchy, problem.matrix, problem.loads,
                               placement::make_placement(begin, problem.hierarchy.count()));
            search(tried, problem);
            // Many moves for next to nothing are not worth it.
            if (tried.value() < after - (start > 0 ? 0.005 * before : 0)) {
                to = tried.placement().slot;
                after = tried.value();
            }
            std::shuffle(begin.begin(), begin.end(), random);
        }
    }
    if (to == problem.current && crowded == 0)
        return decision;
    Proposal proposal;
    proposal.mapping = mapping_of(problem, to);
    proposal.change = change_to(observation, proposal.mapping);
    proposal.gain = std::clamp(gain_of(before, after) + crowded, 0.0, 0.99);
    proposal.why = reason(observation, problem, to);
    for (std::size_t rank = 0; rank < to.size(); ++rank)
        if (observation.ranks[rank].mask != proposal.mapping[rank])
            proposal.ranks.push_back(observation.ranks[rank].rank);
    decision.proposal = std::move(proposal);
    return decision;
}

} // namespace rankwise::tune
