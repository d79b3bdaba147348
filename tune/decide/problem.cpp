// SPDX-License-Identifier: BSD-3-Clause
#include "decide/problem.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace rankwise::tune {

namespace {

using placement::Slot;

// What a core with two busy hardware threads computes by what it does with one: 1.15 to 1.3 (Marr et al.,
// Intel Technology Journal 6(1), 2002). Assumed.
constexpr double two_threads_yield = 1.25;
// What computation takes longer whose memory is on another NUMA node, were all of it loads of which a tenth
// miss all caches. Assumed.
constexpr double elsewhere = 0.1;
// Messages from this size on are not sent before their receiver takes them: what MPI and sockets buffer.
// Assumed.
constexpr double waits_for_receiver_bytes = 65536;

std::vector<const Pu *> usable(const Observation &observation, const Node &node, const PuSet &allowed) {
    std::vector<const Pu *> found;
    for (const Pu &pu : node.pus) {
        const auto load = observation.pus.find(pu.os);
        if (allowed.test(static_cast<std::size_t>(pu.os)) &&
            (load == observation.pus.end() || load->second.online))
            found.push_back(&pu);
    }
    return found;
}

/// Of each unit, how many of its core come before it.
std::map<std::int32_t, int> places_in_cores(const Node &node) {
    std::map<std::int32_t, int> place, count;
    for (const Pu &pu : node.pus)
        place[pu.os] = pu.core < 0 ? 0 : count[pu.core]++;
    return place;
}

/// How many units of a core a set has, if as many of each of its cores; else 1.
int units_of_core(const Node &node, const PuSet &set) {
    std::map<std::int32_t, int> counts;
    for (const Pu &pu : node.pus)
        if (pu.core >= 0 && set.test(static_cast<std::size_t>(pu.os)))
            ++counts[pu.core];
    const int first = counts.empty() ? 1 : counts.begin()->second;
    return std::ranges::all_of(counts, [&](const auto &each) { return each.second == first; }) ? first : 1;
}

/// A unit of which no slot has been made.
struct FreeUnit {
    const Pu *pu;
    int turn;          ///< first threads of cores come before second ones
    std::size_t order; ///< logical
};

/// Units that are not taken, in the order in which slots are made of them.
/// @param[in] of_core threads that come together; those of which some are taken come last
std::vector<FreeUnit> free_units(const Node &node, const std::vector<const Pu *> &pus, const PuSet &taken,
                                 int of_core) {
    const std::map<std::int32_t, int> place = places_in_cores(node);
    std::vector<FreeUnit> free;
    std::map<std::pair<std::int32_t, int>, int> together; // by core and turn
    for (std::size_t at = 0; at < pus.size(); ++at)
        if (!taken.test(static_cast<std::size_t>(pus[at]->os))) {
            free.push_back({pus[at], place.at(pus[at]->os) / of_core, at});
            ++together[{pus[at]->core, free.back().turn}];
        }
    for (FreeUnit &each : free)
        if (of_core > 1 && together.at({each.pu->core, each.turn}) != of_core)
            each.turn = std::numeric_limits<int>::max();
    std::ranges::stable_sort(free, {}, &FreeUnit::turn);
    return free;
}

/// Sets of `width` units that are not taken: of one L3 where there are so many, else of one NUMA node, else
/// of one package; first threads of all cores before second ones.
/// @param[in] of_core threads of a core that come together
void add_slots(const Node &node, const std::vector<const Pu *> &pus, const PuSet &taken, std::size_t width,
               int of_core, std::vector<PuSet> &slots) {
    std::vector<FreeUnit> free = free_units(node, pus, taken, of_core);
    std::map<std::pair<int, std::size_t>, PuSet> found; // in the order of their first units
    const auto make_slots_within = [&](std::int32_t Pu::*part, bool of_one_turn) {
        std::map<std::pair<int, std::int32_t>, std::vector<FreeUnit>> begun;
        std::vector<FreeUnit> left;
        for (const FreeUnit &each : free) {
            if (each.pu->*part < 0 && part != &Pu::package) {
                left.push_back(each);
                continue;
            }
            std::vector<FreeUnit> &slot = begun[{of_one_turn ? each.turn : 0, each.pu->*part}];
            slot.push_back(each);
            if (slot.size() == width) {
                PuSet &units = found[{slot.front().turn, slot.front().order}];
                for (const FreeUnit &unit : std::exchange(slot, {}))
                    units.set(static_cast<std::size_t>(unit.pu->os));
            }
        }
        for (const auto &[key, slot] : begun)
            left.insert(left.end(), slot.begin(), slot.end());
        std::ranges::sort(left, {}, [](const FreeUnit &each) { return std::pair(each.turn, each.order); });
        free = std::move(left);
    };
    for (std::int32_t Pu::*const part : {&Pu::l3, &Pu::numa, &Pu::package})
        make_slots_within(part, true);
    make_slots_within(&Pu::package, false);
    for (const auto &[first, units] : found)
        slots.push_back(units);
}

/// What the launcher, or whoever it was, bound ranks to.
struct Binding {
    bool any = false;     ///< to less than the job's set
    bool equal = true;    ///< all to as many units
    bool shared = false;  ///< several to the same
    bool one = false;     ///< all to the same
    bool overlap = false; ///< some to units of which others have a part
    bool none = false;    ///< one to none that can be used
};

Binding binding_of(const std::vector<RankLoad> &ranks, const PuSet &usable) {
    Binding binding;
    std::map<std::size_t, PuSet> sets; // by their first unit: those with the same one overlap
    PuSet all;
    std::size_t units = 0;
    const std::size_t width = (ranks.front().mask & usable).count();
    for (const RankLoad &rank : ranks) {
        const PuSet mask = rank.mask & usable;
        const std::size_t count = mask.count();
        binding.any |= mask != usable;
        binding.none |= count == 0;
        binding.equal &= count == width;
        const auto [set, is_new] = sets.try_emplace(pu_from(mask, 0), mask);
        binding.shared |= !is_new;
        binding.overlap |= set->second != mask;
        units += is_new ? count : 0;
        all |= mask;
    }
    binding.overlap |= all.count() != units;
    binding.one = sets.size() == 1 && binding.shared && !binding.overlap;
    binding.any |= ranks.size() == 1 && usable.count() == 1;
    return binding;
}

/// Whether more ranks than units are bound to one set, or with more busy threads.
bool are_crowded(const std::vector<RankLoad> &ranks, const PuSet &usable, bool by_threads) {
    return std::ranges::any_of(ranks, [&](const RankLoad &rank) {
        const PuSet mask = rank.mask & usable;
        std::size_t count = 0;
        for (const RankLoad &other : ranks)
            if ((other.mask & usable) == mask)
                count += by_threads ? static_cast<std::size_t>(std::max(other.threads(), 1)) : 1;
        return count > mask.count();
    });
}

void make_hierarchy(Problem &problem, const std::map<std::int32_t, const Pu *> &by_number) {
    problem.hierarchy.levels = core;
    std::vector<std::size_t> widths;
    for (const PuSet &slot : problem.slots)
        if (std::find(widths.begin(), widths.end(), slot.count()) == widths.end())
            widths.push_back(slot.count());
    for (std::size_t slot = 0; slot < problem.slots.size(); ++slot) {
        const Pu &pu = *by_number.at(static_cast<std::int32_t>(pu_from(problem.slots[slot], 0)));
        // Units of which a level is not known share it with nobody.
        const std::int32_t alone = -2 - static_cast<std::int32_t>(slot);
        for (const std::int32_t part : {0, pu.package, pu.numa, pu.l3, pu.l2, pu.core})
            problem.hierarchy.groups.push_back(part < 0 ? alone : part);
        problem.hierarchy.node.push_back(static_cast<std::int32_t>(
            std::find(widths.begin(), widths.end(), problem.slots[slot].count()) - widths.begin()));
    }
    for (std::size_t rank = 0; rank < problem.current.size(); ++rank)
        if (problem.stays[rank])
            problem.hierarchy.node[static_cast<std::size_t>(problem.current[rank])] =
                static_cast<std::int32_t>(widths.size() + rank);
}

void make_matrix(Problem &problem, const Observation &observation, const Node &node) {
    std::map<std::int32_t, std::size_t> index;
    for (std::size_t at = 0; at < observation.ranks.size(); ++at)
        if (observation.ranks[at].rank >= 0)
            index[observation.ranks[at].rank] = at;
    struct Pair {
        double messages = 0, bytes = 0;
    };
    std::vector<std::map<std::size_t, Pair>> pairs(observation.ranks.size());
    for (std::size_t from = 0; from < observation.ranks.size(); ++from)
        for (const Progress::Peer &peer : observation.ranks[from].sent) {
            const auto to = index.find(peer.rank);
            if (to == index.end() || to->second == from)
                continue;
            for (Pair *const pair : {&pairs[from][to->second], &pairs[to->second][from]}) {
                pair->messages += static_cast<double>(peer.messages);
                pair->bytes += static_cast<double>(peer.bytes);
            }
        }
    placement::CommMatrix &matrix = problem.matrix;
    matrix.ranks = static_cast<placement::Rank>(observation.ranks.size());
    matrix.offsets.push_back(0);
    problem.loads.in_step.resize(pairs.size());
    for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
        for (const auto &[other, pair] : pairs[rank]) {
            if (pair.bytes >= waits_for_receiver_bytes * pair.messages)
                problem.loads.in_step[rank].push_back(static_cast<placement::Rank>(other));
            matrix.neighbour.push_back(static_cast<placement::Rank>(other));
            matrix.nic_out.push_back(0);
            matrix.nic_in.push_back(0);
            for (std::size_t level = network; level < levels; ++level) {
                const Node::Link link =
                    node.links.empty() ? Node::Link{} : node.links[std::min(level, node.links.size() - 1)];
                matrix.cost.push_back(
                    static_cast<float>((pair.messages * link.s_per_message + pair.bytes * link.s_per_byte) /
                                       observation.length));
            }
        }
        matrix.offsets.push_back(static_cast<std::int64_t>(matrix.neighbour.size()));
    }
}

using Numbers = std::vector<std::int32_t>;

std::map<std::int32_t, Numbers> threads_of_cores(const Node &node) {
    std::map<std::int32_t, Numbers> threads;
    for (const Pu &pu : node.pus)
        if (pu.core >= 0)
            threads[pu.core].push_back(pu.os);
    return threads;
}

/// What ranks get of a unit. @param[in] threads of its core
double capability_of(const Observation &observation, std::int32_t unit, const Numbers &threads) {
    const auto load = observation.pus.find(unit);
    double capability = load == observation.pus.end() ? 1 : load->second.capability();
    for (const std::int32_t other : threads)
        if (const auto beside = observation.pus.find(other); other != unit && beside != observation.pus.end())
            capability /=
                1 + (beside->second.others + beside->second.interrupts) * (2 / two_threads_yield - 1);
    return capability;
}

/// The NUMA node of most units of a slot; -1 where it is not known.
std::int32_t numa_of(const PuSet &slot, const std::map<std::int32_t, const Pu *> &by_number) {
    std::map<std::int32_t, int> units;
    for (std::size_t at = pu_from(slot, 0); at < most_pus; at = pu_from(slot, at + 1))
        ++units[std::max(by_number.at(static_cast<std::int32_t>(at))->numa, -1)];
    return std::ranges::max_element(units, {}, [](const auto &each) { return each.second; })->first;
}

void make_loads(Problem &problem, const Observation &observation, const Node &node,
                const std::map<std::int32_t, const Pu *> &by_number) {
    placement::Loads &loads = problem.loads;
    std::set<std::int32_t> cores, memories;
    bool share_cores = false;
    loads.capability = capabilities(observation, node, problem.slots, problem.busy_threads);
    for (std::size_t slot = 0; slot < problem.slots.size(); ++slot) {
        const Pu &pu = *by_number.at(static_cast<std::int32_t>(pu_from(problem.slots[slot], 0)));
        // Ranks that are bound to one set are each on a core of it.
        const std::int32_t on = problem.shared ? -1 : pu.core;
        loads.core.push_back(on);
        loads.memory.push_back(numa_of(problem.slots[slot], by_number));
        share_cores |= on >= 0 && !cores.insert(on).second;
        memories.insert(loads.memory.back());
    }
    if (!share_cores)
        loads.core.clear();
    loads.core_yield = two_threads_yield;
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank)
        loads.computation.push_back(observation.ranks[rank].computes *
                                    loads.capability[static_cast<std::size_t>(problem.current[rank])]);
    for (const RankLoad &rank : observation.ranks)
        if (rank.home >= 0)
            memories.insert(rank.home);
    if (memories.size() < 2) {
        loads.memory.clear();
        return;
    }
    loads.away = elsewhere;
    std::vector<std::int32_t> runs_on;
    std::vector<double> at_work;
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank) {
        loads.home.push_back(observation.ranks[rank].home);
        runs_on.push_back(loads.memory[static_cast<std::size_t>(problem.current[rank])]);
        at_work.push_back(loads.computation[rank] * std::max(observation.ranks[rank].busy_threads, 1));
    }
    problem.memories = memories_of(observation, node, runs_on, loads.home, std::move(at_work));
}

/// The slots, and where ranks are, of ranks that are bound.
void take_bindings(Problem &problem, const Observation &observation, const Node &node,
                   const std::vector<const Pu *> &pus, const PuSet &usable_set, const Binding &binding) {
    PuSet taken;
    for (const RankLoad &rank : observation.ranks) {
        problem.current.push_back(static_cast<Slot>(problem.slots.size()));
        problem.slots.push_back(rank.mask & usable_set);
        taken |= rank.mask;
    }
    if (binding.equal && !binding.shared)
        add_slots(node, pus, taken, problem.slots.front().count(), units_of_core(node, problem.slots.front()),
                  problem.slots);
}

/// The slots for ranks that may run anywhere, and where they ran last.
void make_slots(Problem &problem, const Observation &observation, const Node &node,
                const std::vector<const Pu *> &pus) {
    add_slots(node, pus, {}, static_cast<std::size_t>(problem.busy_threads), 1, problem.slots);
    std::vector<bool> taken(problem.slots.size());
    for (const RankLoad &rank : observation.ranks) {
        std::size_t slot = 0;
        while (slot < problem.slots.size() &&
               (taken[slot] || rank.pu < 0 || !problem.slots[slot].test(static_cast<std::size_t>(rank.pu))))
            ++slot;
        if (slot == problem.slots.size())
            slot = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
        if (slot == problem.slots.size())
            return;
        taken[slot] = true;
        problem.current.push_back(static_cast<Slot>(slot));
    }
}

} // namespace

std::string name_of(const RankLoad &rank) {
    return rank.rank >= 0 ? "rank " + std::to_string(rank.rank)
                          : "process " + std::to_string(rank.process.number);
}

std::int32_t home_of(const Problem &problem, std::size_t rank, Slot slot) {
    const placement::Loads &loads = problem.loads;
    if (loads.home.empty() || loads.memory.empty() || loads.home[rank] < 0)
        return -1;
    const std::int32_t there = loads.memory[static_cast<std::size_t>(slot)];
    const bool follow = !problem.taken_along.empty() && slot != problem.current[rank] &&
                        problem.taken_along[rank].may_be_on(there);
    return follow ? there : loads.home[rank];
}

std::vector<double> capabilities(const Observation &observation, const Node &node,
                                 const std::vector<PuSet> &slots, int busy_threads) {
    const std::map<std::int32_t, Numbers> threads = threads_of_cores(node);
    std::map<std::int32_t, std::int32_t> core_of;
    for (const Pu &pu : node.pus)
        core_of[pu.os] = pu.core;
    std::vector<double> found;
    for (const PuSet &slot : slots) {
        double sum = 0, alone = 0;
        std::set<std::int32_t> cores;
        for (std::size_t at = pu_from(slot, 0); at < most_pus; at = pu_from(slot, at + 1)) {
            const auto unit = static_cast<std::int32_t>(at);
            const auto core = core_of.find(unit);
            const bool known = core != core_of.end() && core->second >= 0;
            sum += capability_of(observation, unit, known ? threads.at(core->second) : Numbers{});
            if (!known || cores.insert(core->second).second)
                ++alone;
        }
        const auto units = static_cast<double>(slot.count());
        const double busy = std::clamp<double>(busy_threads, 1, std::max(units, 1.0));
        const double first = std::min(busy, alone);
        found.push_back(units > 0 ? sum / units * (first + (busy - first) * (two_threads_yield - 1)) / busy
                                  : 1);
    }
    return found;
}

Problem make_problem(const Observation &observation, const Node &node, const PuSet &allowed) {
    Problem problem;
    const auto refuse = [&](std::string why) {
        problem.refused = std::move(why);
        return problem;
    };
    if (!observation.unusable.empty() || observation.ranks.empty())
        return refuse(observation.unusable.empty() ? "it has no ranks" : observation.unusable);
    for (const RankLoad &rank : observation.ranks) {
        problem.busy_threads = std::max(problem.busy_threads, rank.busy_threads);
        problem.stays.push_back(rank.stays);
    }
    const std::vector<const Pu *> pus = usable(observation, node, allowed);
    std::map<std::int32_t, const Pu *> by_number;
    PuSet usable_set;
    for (const Pu *const pu : pus) {
        by_number[pu->os] = pu;
        usable_set.set(static_cast<std::size_t>(pu->os));
    }
    const Binding binding = binding_of(observation.ranks, usable_set);
    problem.bound = binding.any;
    problem.shared = binding.any && binding.shared;
    const auto pinned = std::ranges::find_if(observation.ranks, &RankLoad::pinned);
    const bool any_pinned = pinned != observation.ranks.end();
    if (problem.bound) {
        if (binding.none)
            return refuse("a rank has none of the job's processing units");
        // Else a rank and its threads change places with one of another set.
        const bool are_mixed = binding.overlap || binding.one ||
                               (binding.shared && are_crowded(observation.ranks, usable_set, true));
        if (are_mixed && any_pinned)
            return refuse(name_of(*pinned) +
                          "'s threads are bound to processing units that other ranks have, "
                          "too: let the launcher bind ranks, then their runtime threads");
        if (binding.overlap)
            return refuse("ranks are bound to sets of processing units that overlap");
        if (binding.shared && are_crowded(observation.ranks, usable_set, false))
            return refuse("more ranks are bound to a set of processing units than it has: start fewer ranks, "
                          "or bind them otherwise");
        take_bindings(problem, observation, node, pus, usable_set, binding);
    } else {
        // Each of its threads would get all units of a slot.
        if (any_pinned)
            return refuse(name_of(*pinned) +
                          "'s threads are bound apart from each other, by its runtime or launcher");
        make_slots(problem, observation, node, pus);
        if (problem.current.size() < observation.ranks.size())
            return refuse(std::to_string(observation.ranks.size()) + " ranks with " +
                          std::to_string(problem.busy_threads) + " busy threads share " +
                          std::to_string(pus.size()) + " processing units: start fewer ranks");
    }
    make_hierarchy(problem, by_number);
    make_matrix(problem, observation, node);
    make_loads(problem, observation, node, by_number);
    return problem;
}

} // namespace rankwise::tune
