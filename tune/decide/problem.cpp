// SPDX-License-Identifier: BSD-3-Clause
#include "decide/problem.hpp"

#include <algorithm>
#include <map>
#include <set>

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

/// Groups of `width` units of one package, in logical order, of those that are not taken.
void add_slots(const std::vector<const Pu *> &pus, const PuSet &taken, std::size_t width,
               std::vector<PuSet> &slots) {
    PuSet slot;
    std::int32_t package = -1;
    for (const Pu *const pu : pus) {
        if (taken.test(static_cast<std::size_t>(pu->os)))
            continue;
        if (pu->package != package)
            slot.reset();
        package = pu->package;
        slot.set(static_cast<std::size_t>(pu->os));
        if (slot.count() == width) {
            slots.push_back(slot);
            slot.reset();
        }
    }
}

/// Whether ranks have as many units each as the others, and none has another's.
bool are_bound(const std::vector<RankLoad> &ranks, const PuSet &allowed) {
    PuSet taken;
    for (const RankLoad &rank : ranks) {
        const PuSet mask = rank.mask & allowed;
        if (mask.none() || mask.count() != (ranks.front().mask & allowed).count() || (mask & taken).any())
            return false;
        taken |= mask;
    }
    // A rank that has all units by itself is not bound to any.
    return ranks.size() > 1 || taken != allowed || allowed.count() == 1;
}

void make_hierarchy(Problem &problem, const std::map<std::int32_t, const Pu *> &by_number) {
    problem.hierarchy.levels = core;
    for (std::size_t slot = 0; slot < problem.slots.size(); ++slot) {
        const Pu &pu = *by_number.at(static_cast<std::int32_t>(problem.slots[slot]._Find_first()));
        // Units of which a level is not known share it with nobody.
        const std::int32_t alone = -2 - static_cast<std::int32_t>(slot);
        for (const std::int32_t part : {0, pu.package, pu.numa, pu.l3, pu.l2, pu.core})
            problem.hierarchy.groups.push_back(part < 0 ? alone : part);
        problem.hierarchy.node.push_back(0);
    }
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

/// Of each unit, what ranks get of it: others may use the core's other hardware threads as well.
std::map<std::int32_t, double> capabilities(const Observation &observation, const Node &node) {
    std::map<std::int32_t, std::vector<std::int32_t>> threads;
    for (const Pu &pu : node.pus)
        if (pu.core >= 0)
            threads[pu.core].push_back(pu.os);
    std::map<std::int32_t, double> found;
    for (const Pu &pu : node.pus) {
        const auto load = observation.pus.find(pu.os);
        double capability = load == observation.pus.end() ? 1 : load->second.capability();
        for (const std::int32_t other : pu.core >= 0 ? threads[pu.core] : std::vector<std::int32_t>{})
            if (const auto beside = observation.pus.find(other);
                other != pu.os && beside != observation.pus.end())
                capability /= 1 + beside->second.others * (2 / two_threads_yield - 1);
        found[pu.os] = capability;
    }
    return found;
}

void make_loads(Problem &problem, const Observation &observation, const Node &node,
                const std::map<std::int32_t, const Pu *> &by_number) {
    placement::Loads &loads = problem.loads;
    std::set<std::int32_t> cores, memories;
    bool share_cores = false;
    const std::map<std::int32_t, double> of_unit = capabilities(observation, node);
    for (const PuSet &slot : problem.slots) {
        double sum = 0;
        for (std::size_t pu = slot._Find_first(); pu < most_pus; pu = slot._Find_next(pu))
            sum += of_unit.at(static_cast<std::int32_t>(pu));
        loads.capability.push_back(sum / static_cast<double>(slot.count()));
        const Pu &pu = *by_number.at(static_cast<std::int32_t>(slot._Find_first()));
        loads.core.push_back(pu.core);
        loads.memory.push_back(std::max(pu.numa, -1));
        share_cores |= pu.core >= 0 && !cores.insert(pu.core).second;
        memories.insert(pu.numa);
    }
    if (!share_cores)
        loads.core.clear();
    loads.core_yield = two_threads_yield;
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank)
        loads.computation.push_back(observation.ranks[rank].outside_mpi *
                                    loads.capability[static_cast<std::size_t>(problem.current[rank])]);
    if (memories.size() < 2) {
        loads.memory.clear();
        return;
    }
    loads.away = elsewhere;
    for (const RankLoad &rank : observation.ranks)
        loads.home.push_back(rank.home);
    if (node.memory_bytes_per_s <= 0 || observation.memory_bytes_per_s.empty())
        return;
    // What a memory moves is its ranks' by how much they compute.
    std::map<std::int32_t, double> computed;
    const auto memory_of = [&](std::size_t rank) {
        return loads.memory[static_cast<std::size_t>(problem.current[rank])];
    };
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank)
        computed[memory_of(rank)] += loads.computation[rank];
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank) {
        const std::int32_t memory = memory_of(rank);
        const auto at = static_cast<std::size_t>(memory);
        const double moved = memory >= 0 && at < observation.memory_bytes_per_s.size()
                                 ? observation.memory_bytes_per_s[at]
                                 : 0;
        loads.demand.push_back(computed[memory] > 0 ? moved / node.memory_bytes_per_s *
                                                          loads.computation[rank] / computed[memory]
                                                    : 0);
    }
}

std::string named(const RankLoad &rank) {
    return rank.rank >= 0 ? "rank " + std::to_string(rank.rank)
                          : "process " + std::to_string(rank.process.number);
}

} // namespace

Problem make_problem(const Observation &observation, const Node &node, const PuSet &allowed) {
    Problem problem;
    const auto refuse = [&](std::string why) {
        problem.refused = std::move(why);
        return problem;
    };
    if (!observation.unusable.empty() || observation.ranks.empty())
        return refuse(observation.unusable.empty() ? "it has no ranks" : observation.unusable);
    int most_threads = 1;
    for (const RankLoad &rank : observation.ranks) {
        if (rank.own_binding)
            return refuse(named(rank) +
                          "'s threads are bound apart from each other, by its runtime or launcher");
        most_threads = std::max(most_threads, rank.busy_threads);
    }
    const std::vector<const Pu *> pus = usable(observation, node, allowed);
    std::map<std::int32_t, const Pu *> by_number;
    PuSet usable_set;
    for (const Pu *const pu : pus) {
        by_number[pu->os] = pu;
        usable_set.set(static_cast<std::size_t>(pu->os));
    }
    problem.bound = are_bound(observation.ranks, usable_set);
    const std::size_t width = problem.bound ? (observation.ranks.front().mask & usable_set).count()
                                            : static_cast<std::size_t>(most_threads);
    if (observation.ranks.size() * width > pus.size())
        return refuse(std::to_string(observation.ranks.size()) + " ranks with " + std::to_string(width) +
                      " busy threads share " + std::to_string(pus.size()) +
                      " processing units: start fewer ranks");
    if (problem.bound) {
        PuSet taken;
        for (const RankLoad &rank : observation.ranks) {
            problem.current.push_back(static_cast<Slot>(problem.slots.size()));
            problem.slots.push_back(rank.mask & usable_set);
            taken |= rank.mask;
        }
        add_slots(pus, taken, width, problem.slots);
    } else {
        add_slots(pus, {}, width, problem.slots);
        if (problem.slots.size() < observation.ranks.size())
            return refuse("packages have no room for ranks of " + std::to_string(width) + " busy threads");
        std::vector<bool> taken(problem.slots.size());
        for (const RankLoad &rank : observation.ranks) {
            std::size_t slot = 0;
            while (
                slot < problem.slots.size() &&
                (taken[slot] || rank.pu < 0 || !problem.slots[slot].test(static_cast<std::size_t>(rank.pu))))
                ++slot;
            if (slot == problem.slots.size())
                slot = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
            taken[slot] = true;
            problem.current.push_back(static_cast<Slot>(slot));
        }
    }
    make_hierarchy(problem, by_number);
    make_matrix(problem, observation, node);
    make_loads(problem, observation, node, by_number);
    return problem;
}

} // namespace rankwise::tune
