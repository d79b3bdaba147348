// SPDX-License-Identifier: BSD-3-Clause
#include "decide/interrupts.hpp"

#include <algorithm>
#include <cmath>

#include "decide/problem.hpp"

namespace rankwise::tune {

namespace {

// Units that differ by less in what an iteration takes serve an interrupt as well.
constexpr double as_good = 1e-6;
// Of all lines, those whose ranks lose most are looked at.
constexpr std::size_t most_lines = 8;

struct Line {
    std::int32_t number, unit;
    std::size_t rank; ///< whose unit it is
    double takes;     ///< share of the unit's time
    double lost;      ///< of the rank's
};

std::vector<Line> lines_of(const Observation &observation, const Problem &problem,
                           const std::set<std::int32_t> &left) {
    std::vector<Line> lines;
    for (std::size_t rank = 0; rank < problem.current.size(); ++rank) {
        const PuSet &units = problem.slots[static_cast<std::size_t>(problem.current[rank])];
        for (std::size_t at = pu_from(units, 0); at < most_pus; at = pu_from(units, at + 1)) {
            const auto unit = static_cast<std::int32_t>(at);
            const auto load = observation.pus.find(unit);
            if (load == observation.pus.end() || load->second.line < 0 || left.contains(load->second.line))
                continue;
            // What a unit does with packets that another one hands on stays when its own interrupts go.
            if (load->second.steered_to)
                continue;
            const double takes = load->second.interrupts * load->second.line_share;
            const double lost = takes * problem.loads.computation[rank] / static_cast<double>(units.count());
            if (lost > 0)
                lines.push_back({load->second.line, unit, rank, takes, lost});
        }
    }
    std::sort(lines.begin(), lines.end(), [](const Line &a, const Line &b) { return a.lost > b.lost; });
    if (lines.size() > most_lines)
        lines.resize(most_lines);
    return lines;
}

/// The unit that serves a line best, and what an iteration takes then; -1 if it is well where it is.
std::pair<std::int32_t, double> best_unit(Observation observation, const Node &node, Problem problem,
                                          const PuSet &usable, const Line &line) {
    const auto time = [&] {
        problem.loads.capability = capabilities(observation, node, problem.slots, problem.busy_threads);
        return iteration_time(problem, problem.current).seconds;
    };
    std::pair<std::int32_t, double> best{-1, time()};
    const PuLoad at = observation.pus.at(line.unit);
    const auto own =
        std::find_if(node.pus.begin(), node.pus.end(), [&](const Pu &pu) { return pu.os == line.unit; });
    const std::int32_t device = at.line_numa >= 0 ? at.line_numa : own == node.pus.end() ? -1 : own->numa;
    observation.pus.at(line.unit).interrupts -= line.takes;
    bool near = false;
    for (const Pu &pu : node.pus) {
        const auto unit = observation.pus.find(pu.os);
        if (pu.os == line.unit || !usable.test(static_cast<std::size_t>(pu.os)) ||
            unit == observation.pus.end() || !unit->second.online)
            continue;
        unit->second.interrupts += line.takes;
        const double after = time();
        unit->second.interrupts -= line.takes;
        const bool is_near = pu.numa == device;
        if (after < best.second - as_good ||
            (best.first >= 0 && after < best.second + as_good && is_near && !near)) {
            best = {pu.os, after};
            near = is_near;
        }
    }
    return best;
}

} // namespace

std::vector<Proposal> decide_interrupts(const Observation &observation, const Node &node,
                                        const PuSet &allowed, const PuSet &free,
                                        const std::set<std::int32_t> &left) {
    std::vector<Proposal> found;
    const Problem problem = make_problem(observation, node, allowed);
    if (!problem.refused.empty() || !problem.bound)
        return found;
    PuSet usable, isolated;
    for (const auto &[pu, load] : observation.pus) {
        const auto at = static_cast<std::size_t>(pu);
        usable.set(at, free.test(at) && load.others < busy_share);
        isolated.set(at, load.isolated);
    }
    for (const PuSet &slot : problem.slots)
        usable |= slot;
    usable &= ~isolated;
    for (std::size_t rank = 0; rank < problem.stays.size(); ++rank)
        if (problem.stays[rank])
            usable &= ~problem.slots[static_cast<std::size_t>(problem.current[rank])];
    const double before = iteration_time(problem, problem.current).seconds;
    for (const Line &line : lines_of(observation, problem, left)) {
        const auto [unit, after] = best_unit(observation, node, problem, usable, line);
        if (unit < 0)
            continue;
        Proposal proposal;
        PuSet to;
        to.set(static_cast<std::size_t>(unit));
        proposal.change.interrupts.push_back({line.number, {}, to});
        for (const RankLoad &rank : observation.ranks)
            proposal.mapping.push_back(rank.mask);
        proposal.gain = std::clamp((before - after) / std::max(before, 1.0), 0.0, 0.99);
        const RankLoad &rank = observation.ranks[line.rank];
        proposal.ranks = {rank.rank};
        proposal.why = name_of(rank) + " computes on PU " + std::to_string(line.unit) +
                       ", of which interrupt " + std::to_string(line.number) + " takes " +
                       std::to_string(std::lround(100 * line.takes)) + " %; PU " + std::to_string(unit) +
                       " can serve it";
        if (observation.pus.at(line.unit).line_steered)
            proposal.why += "; where its packets are handed on to (RPS) stays as it is";
        found.push_back(std::move(proposal));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Proposal &a, const Proposal &b) { return a.gain > b.gain; });
    return found;
}

} // namespace rankwise::tune
