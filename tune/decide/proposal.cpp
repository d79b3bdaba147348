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

// What a search ends at depends on where it begins: so many ranks are searched from so many mappings, ...
constexpr std::size_t few_ranks = 16;
constexpr int starts = 16;
// ... and another than the present one is taken if it saves so much more: many moves for next to nothing are
// not worth it.
constexpr double least_saving = 0.005;
constexpr int most_swaps = 8;
// Capabilities that differ by so much are not the same.
constexpr double unequal_cores = 0.05, better_core = 1.02;
// Computation that stays above this part is not what a change is for.
constexpr double same_computation = 0.98;

// Iterations that differ by less take as long.
constexpr double as_long = 1e-9;

struct Exchange {
    Slot a = -1, b = -1;
    double change = 0; ///< of the estimate
};

bool may_exchange(const TimeEstimate &estimate, const Problem &problem, Slot a, Slot b) {
    const placement::Placement &placement = estimate.placement();
    return a != b &&
           problem.hierarchy.node[static_cast<std::size_t>(a)] ==
               problem.hierarchy.node[static_cast<std::size_t>(b)] &&
           (placement.rank[static_cast<std::size_t>(a)] != placement::no_rank ||
            placement.rank[static_cast<std::size_t>(b)] != placement::no_rank);
}

Exchange best_exchange(const TimeEstimate &estimate, const Problem &problem, const std::vector<Slot> &slots) {
    Exchange best;
    for (const Slot a : slots)
        for (Slot b = 0; b < problem.hierarchy.count(); ++b) {
            // Pairs of ranks come twice.
            if (!may_exchange(estimate, problem, a, b) ||
                (estimate.placement().rank[static_cast<std::size_t>(b)] != placement::no_rank && b < a))
                continue;
            if (const double change = estimate.swap_change(a, b); change < best.change)
                best = {a, b, change};
        }
    return best;
}

bool is_impossible(const Problem &problem, const std::vector<Slot> &slots) {
    return std::ranges::find(problem.impossible, slots) != problem.impossible.end();
}

std::vector<Slot> exchanged(const TimeEstimate &estimate, Slot a, Slot b) {
    std::vector<Slot> slots = estimate.placement().slot;
    for (const auto &[from, to] : {std::pair{a, b}, {b, a}})
        if (const Rank rank = estimate.placement().rank[static_cast<std::size_t>(from)];
            rank != placement::no_rank)
            slots[static_cast<std::size_t>(rank)] = to;
    return slots;
}

/// The exchange after which an iteration is shortest: of the rank that takes longest, of any two of few
/// ranks, or, where all pairs are looked at, the one that the estimate likes best.
std::vector<Slot> shortest_exchange(const TimeEstimate &estimate, const Problem &problem, bool all_pairs) {
    const std::vector<Slot> &now = estimate.placement().slot;
    const IterationTime longest = iteration_time(problem, now);
    const bool few = now.size() <= few_ranks;
    std::vector<Slot> best = now;
    std::pair<double, double> least{longest.seconds, 0};
    const auto try_exchange = [&](Slot a, Slot b) {
        std::vector<Slot> slots = exchanged(estimate, a, b);
        const double too_long = least.first + as_long,
                     seconds = iteration_time(problem, slots, too_long).seconds;
        if (seconds >= too_long || is_impossible(problem, slots))
            return;
        // Of those that are as good, the one that shortens the others most.
        const double change = estimate.swap_change(a, b);
        if (seconds < least.first - as_long || change < least.second - as_long) {
            least = {seconds, change};
            best = std::move(slots);
        }
    };
    for (std::size_t rank = 0; rank < now.size(); ++rank) {
        if (!few && static_cast<Rank>(rank) != longest.rank)
            continue;
        const Slot a = now[rank];
        for (Slot b = 0; b < problem.hierarchy.count(); ++b) {
            const Rank other = estimate.placement().rank[static_cast<std::size_t>(b)];
            const bool came_before = few && other != placement::no_rank && other < static_cast<Rank>(rank);
            if (!came_before && may_exchange(estimate, problem, a, b))
                try_exchange(a, b);
        }
    }
    if (all_pairs && !few)
        if (const Exchange any = best_exchange(estimate, problem, now); any.change < 0)
            try_exchange(any.a, any.b);
    return best;
}

TimeEstimate estimate_of(const Problem &problem, const std::vector<Slot> &slots) {
    return {problem.hierarchy, problem.matrix, problem.loads,
            placement::make_placement(slots, problem.hierarchy.count())};
}

/// @param[in] refined begin with what placement::refine makes of it, which does not look at all pairs
std::vector<Slot> search(const Problem &problem, const std::vector<Slot> &begin, bool refined) {
    std::vector<Slot> best = begin;
    if (refined) {
        TimeEstimate estimate = estimate_of(problem, begin);
        placement::RefineOptions options;
        options.keep_nodes = true;
        placement::refine(estimate, problem.hierarchy, problem.matrix, options);
        best = estimate.placement().slot;
    }
    for (int swaps = 0; swaps < most_swaps; ++swaps) {
        std::vector<Slot> better = shortest_exchange(estimate_of(problem, best), problem, false);
        if (better == best)
            break;
        best = std::move(better);
    }
    return best;
}

/// Ranks change places with others of as many units.
void shuffle(std::vector<Slot> &slots, const Problem &problem, std::mt19937_64 &random) {
    const auto width = [&](std::size_t rank) {
        return problem.hierarchy.node[static_cast<std::size_t>(slots[rank])];
    };
    for (std::size_t rank = slots.size(); rank > 1; --rank)
        // std::shuffle's use of the generator is not specified.
        if (const std::size_t other = random() % rank; width(other) == width(rank - 1))
            std::swap(slots[rank - 1], slots[other]);
}

/// The mapping with the shortest iteration, of those that the search comes to.
std::vector<Slot> best_of_several(const Problem &problem) {
    const double before = iteration_time(problem, problem.current).seconds;
    double least = before;
    std::vector<Slot> begin = problem.current, best = problem.current;
    // The same window always leads to the same proposal.
    std::mt19937_64 random(1); // NOLINT(bugprone-random-generator-seed)
    for (int start = 0; start == 0 || (begin.size() <= few_ranks && start < starts); ++start) {
        // Every other one without, as refine makes the same of many.
        std::vector<Slot> found = search(problem, begin, start % 2 == 0);
        if (const double time = iteration_time(problem, found).seconds;
            time < least - (start > 0 ? least_saving * before : 0) && !is_impossible(problem, found)) {
            best = std::move(found);
            least = time;
        }
        shuffle(begin, problem, random);
    }
    return best;
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

bool is_slower_kind(const Observation &observation, const PuSet &slot) {
    return std::ranges::any_of(observation.pus, [&](const auto &pu) {
        return slot.test(static_cast<std::size_t>(pu.first)) && pu.second.capacity < 1;
    });
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
        if (to[rank] != problem.current[rank] && apart > unequal_cores &&
            unequal(problem, to, rank).first < apart / 2 &&
            longest_computation(problem, to) >
                same_computation * longest_computation(problem, problem.current))
            return name_of(observation.ranks[rank]) + " and " +
                   name_of(observation.ranks[static_cast<std::size_t>(partner)]) +
                   " exchange large messages from cores of unequal capability, out of phase: one gives " +
                   percent(1 - apart) + " of the other";
    }
    if (after > better_core * before) {
        std::string why =
            name_of(first) + " is outside MPI " + percent(first.outside_mpi) + " of its time on PU " + unit +
            ", of which interrupts, other processes, the hypervisor" +
            (is_slower_kind(observation, problem.slots[here]) ? ", a low clock or a slower kind of core"
                                                              : " or a low clock") +
            " take " + percent(1 - before);
        if (moved != busiest)
            why += "; " + name_of(second) +
                   (second.computes + second.waits < busy_share ? " is idle"
                                                                : " waits " + percent(second.waits));
        return why;
    }
    if (!problem.loads.core.empty() &&
        problem.loads.core[here] != problem.loads.core[static_cast<std::size_t>(to[busiest])])
        return name_of(first) + " shares a core with another busy rank";
    if (!problem.loads.home.empty() && problem.loads.home[busiest] >= 0 &&
        problem.loads.home[busiest] != problem.loads.memory[here])
        return name_of(first) + " has its pages on another NUMA node";
    return name_of(first) + " gets nearer to the ranks that it exchanges messages with";
}

} // namespace

std::vector<Slot> better_slots(const Problem &problem, double worth) {
    const double before = iteration_time(problem, problem.current).seconds;
    const auto gain = [&](const std::vector<Slot> &slots) {
        return gain_of(before, iteration_time(problem, slots).seconds);
    };
    std::vector<Slot> to = problem.current;
    if (problem.bound)
        to = shortest_exchange(estimate_of(problem, problem.current), problem, true);
    if (gain(to) < worth)
        if (std::vector<Slot> best = best_of_several(problem); gain(best) > gain(to) + least_saving)
            to = std::move(best);
    return to;
}

Mapping mapping_of(const Problem &problem, const std::vector<Slot> &slots) {
    Mapping mapping;
    for (const Slot slot : slots)
        mapping.push_back(problem.slots[static_cast<std::size_t>(slot)]);
    return mapping;
}

/// -1 where it is none of the slots.
std::vector<Slot> slots_of(const Problem &problem, const Mapping &mapping) {
    std::vector<Slot> slots;
    for (const PuSet &units : mapping) {
        const auto slot = std::ranges::find(problem.slots, units);
        slots.push_back(slot == problem.slots.end() ? -1 : static_cast<Slot>(slot - problem.slots.begin()));
    }
    return slots;
}

double gain_of(double before, double after) {
    return (before - after) / std::max(before, 1.0);
}

std::string percent(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
    return text;
}

std::string list_text(const PuSet &pus) {
    std::string text;
    for (std::size_t pu = pu_from(pus, 0); pu < most_pus; pu = pu_from(pus, pu + 1))
        text += (text.empty() ? "" : ",") + std::to_string(pu);
    return text;
}

Change change_to(const Observation &observation, const Mapping &mapping) {
    Change change;
    for (std::size_t rank = 0; rank < mapping.size(); ++rank)
        if (observation.ranks[rank].mask != mapping[rank])
            change.moves.push_back(
                {observation.ranks[rank].process, observation.ranks[rank].mask, mapping[rank]});
    return change;
}

Decision decide(const Observation &observation, const Node &node, const PuSet &allowed, double worth,
                const std::vector<Mapping> &impossible) {
    Decision decision;
    Problem problem = make_problem(observation, node, allowed);
    for (const Mapping &mapping : impossible)
        problem.impossible.push_back(slots_of(problem, mapping));
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
    const double before = iteration_time(problem, problem.current).seconds;
    // Ranks that wait for a processor because of each other, though there are enough of them. The estimate
    // has what other processes take.
    double crowded = 0;
    if (!problem.bound)
        for (const RankLoad &rank : observation.ranks) {
            double by_each_other = rank.queued;
            for (const auto &[pu, part] : rank.ran_on)
                if (const auto on = observation.pus.find(pu); on != observation.pus.end())
                    by_each_other -= part * on->second.others;
            crowded = std::max(crowded, by_each_other);
        }
    const std::vector<Slot> to = better_slots(problem, worth);
    if (to == problem.current && crowded == 0)
        return decision;
    Proposal proposal;
    proposal.mapping = mapping_of(problem, to);
    proposal.change = change_to(observation, proposal.mapping);
    const double gain = gain_of(before, iteration_time(problem, to).seconds);
    proposal.gain = std::clamp(gain + crowded, 0.0, 0.99);
    proposal.why = reason(observation, problem, to);
    for (std::size_t rank = 0; rank < to.size(); ++rank)
        if (observation.ranks[rank].mask != proposal.mapping[rank])
            proposal.ranks.push_back(observation.ranks[rank].rank);
    decision.proposal = std::move(proposal);
    return decision;
}

} // namespace rankwise::tune
