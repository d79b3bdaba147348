// SPDX-License-Identifier: BSD-3-Clause
// `simulate < SCENARIO`: a Tuner on a node that does not exist. Prints its events, a JSON object a line, and
// at the end what became of the jobs. Status 1 and a line `violation` each for what no tuner may do.
// `simulate best`: instead, the estimate of the best mapping of a job and of the one found.
// `simulate decide`: how long a decision takes.
// `simulate forgets`: with masks that are not given back.
// `simulate keeps`: with `--keep`, and whether they were kept.
// `simulate wanders`: with a rank that is moved where its job may not be.
// `simulate mixes`: with a last change that exchanges the first two ranks, and puts each interrupt on the
// last unit.
// `simulate gain`: instead of a scenario, lines `RATES; RATES; RATES; OUTSIDE`, of each of which the gain is
// printed, its interval missed so often on each side.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>

#include "decide/observation.hpp"
#include "decide/problem.hpp"
#include "decide/proposal.hpp"
#include "judge/gain.hpp"
#include "scenario.hpp"
#include "simulated_system.hpp"

namespace rankwise::tune::simulated {
namespace {

void print(const Event &event, Seconds began) {
    std::printf(R"({"at_s": %.6f, "what": "%s", "group": "%s", "why": "%s", "ranks": [)", event.at - began,
                event_names[event.what].data(), event.group.c_str(), event.why.c_str());
    for (std::size_t at = 0; at < event.ranks.size(); ++at)
        std::printf("%s%d", at ? ", " : "", event.ranks[at]);
    std::printf("], \"moves\": [");
    for (std::size_t at = 0; at < event.change.moves.size(); ++at)
        std::printf("%s[\"%s\", \"%s\"]", at ? ", " : "", list_text(event.change.moves[at].from).c_str(),
                    list_text(event.change.moves[at].to).c_str());
    std::printf("], \"interrupts\": [");
    for (std::size_t at = 0; at < event.change.interrupts.size(); ++at)
        std::printf("%s[%d, \"%s\"]", at ? ", " : "", event.change.interrupts[at].number,
                    list_text(event.change.interrupts[at].to).c_str());
    std::printf("], \"pages\": [");
    for (std::size_t at = 0; at < event.change.pages.size(); ++at)
        std::printf("%s[%d, %d]", at ? ", " : "", event.change.pages[at].from_numa,
                    event.change.pages[at].to_numa);
    std::printf("]");
    for (const auto &[key, value] : {std::pair{"estimated_gain", event.estimated_gain},
                                     {"measured_gain", event.measured_gain},
                                     {"gain_low", event.gain_low}})
        if (value)
            std::printf(", \"%s\": %.6g", key, *value);
    if (!event.rate_of.empty())
        std::printf(", \"rate_of\": \"%s\"", event.rate_of.c_str());
    std::printf("}\n");
}

void print(const Job &job) {
    std::printf(R"({"job": "%s", "iterations": %.3f, "seconds": %.3f, "masks": [)", job.name.c_str(),
                job.position, job.alive_for);
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank)
        std::printf("%s\"%s\"", rank ? ", " : "", list_text(job.ranks[rank].mask).c_str());
    std::printf("]}\n");
}

/// What an iteration takes by a mapping, as is estimated: seconds by second of the window.
double estimate(const Problem &problem, const Mapping &mapping) {
    std::vector<placement::Slot> slots;
    for (const PuSet &units : mapping)
        slots.push_back(static_cast<placement::Slot>(
            std::find(problem.slots.begin(), problem.slots.end(), units) - problem.slots.begin()));
    return iteration_time(problem, slots).seconds;
}

/// The estimate of the best of all mappings of a job on the units it has, and of the one that proposals lead
/// to.
void print_best(SimulatedSystem &system, const Scenario &scenario) {
    const Sample before = system.sample(false);
    system.advance(system.now() + 1);
    const Sample after = system.sample(false);
    for (Observation &observation : observe(before, after)) {
        if (observation.group != scenario.best_of)
            continue;
        PuSet allowed;
        Mapping now;
        for (const RankLoad &rank : observation.ranks) {
            allowed |= rank.mask;
            now.push_back(rank.mask);
        }
        const Problem problem = make_problem(observation, scenario.node, allowed);
        const auto value = [&](const Mapping &mapping) { return estimate(problem, mapping); };
        double best = value(now);
        std::vector<std::size_t> order(now.size());
        std::iota(order.begin(), order.end(), 0);
        do {
            Mapping mapping;
            for (const std::size_t at : order)
                mapping.push_back(now[at]);
            best = std::min(best, value(mapping));
        } while (std::next_permutation(order.begin(), order.end()));
        // Of what was seen: what follows from ranks on other cores is the simulation's, and not judged here.
        Mapping reached = now;
        const double first = value(now);
        const auto began = std::chrono::steady_clock::now();
        if (const Decision decision = decide(observation, scenario.node, allowed, 1); decision.proposal)
            reached = decision.proposal->mapping;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        std::printf(R"({"now": %.9g, "best": %.9g, "reached": %.9g, "took_s": %.6f})"
                    "\n",
                    first, best, value(reached), took.count());
    }
}

/// Where ranks may be if they may use all of the node.
void print_slots(SimulatedSystem &system, const Scenario &scenario) {
    const Sample before = system.sample(false);
    system.advance(system.now() + 1);
    PuSet all;
    for (const Pu &pu : scenario.node.pus)
        all.set(static_cast<std::size_t>(pu.os));
    for (const Observation &observation : observe(before, system.sample(false))) {
        std::printf("{\"slots\": [");
        const Problem problem = make_problem(observation, scenario.node, all);
        for (std::size_t slot = 0; slot < problem.slots.size(); ++slot)
            std::printf("%s\"%s\"", slot ? ", " : "", list_text(problem.slots[slot]).c_str());
        std::printf("]}\n");
    }
}

void time_decision(SimulatedSystem &system, const Scenario &scenario) {
    const Sample before = system.sample(false);
    system.advance(system.now() + 1);
    const Sample after = system.sample(false);
    std::vector<double> took;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto began = std::chrono::steady_clock::now();
        for (const Observation &observation : observe(before, after)) {
            PuSet allowed;
            for (const RankLoad &rank : observation.ranks)
                allowed |= rank.mask;
            decide(observation, scenario.node, allowed, scenario.policy.begin_above);
        }
        took.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    std::sort(took.begin(), took.end());
    std::printf("{\"decision_s\": %.6f}\n", took[took.size() / 2]);
}

/// A change of ranks and interrupts in one, which no proposal is yet.
void mix(SimulatedSystem &system, const Node &node) {
    const std::vector<Rank> &ranks = system.jobs().front().ranks;
    Change change;
    change.moves = {{ranks[0].process, ranks[0].mask, ranks[1].mask},
                    {ranks[1].process, ranks[1].mask, ranks[0].mask}};
    for (const auto &[number, line] : system.lines()) {
        PuSet to;
        change.interrupts.push_back({number, {}, to.set(static_cast<std::size_t>(node.pus.back().os))});
    }
    const std::string why = system.apply(change);
    std::printf(R"({"mixed": "%s", "stuck": %s, "units": [)", why.c_str(),
                system.is_stuck() ? "true" : "false");
    const char *between = "";
    for (const auto &[number, line] : system.lines())
        std::printf("%s%d", std::exchange(between, ", "), line.unit);
    std::printf("]}\n");
}

int print_gains() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream parts(line);
        std::array<std::vector<double>, 3> rates;
        for (std::vector<double> &each : rates) {
            std::string part;
            std::getline(parts, part, ';');
            std::istringstream numbers(part);
            for (double number = 0; numbers >> number;)
                each.push_back(number);
        }
        double outside = 0.025;
        parts >> outside;
        const Gain found = gain(rates[0], rates[1], rates[2], parts ? outside : 0.025);
        std::printf(R"({"value": %.9g, "low": %.9g, "high": %.9g})"
                    "\n",
                    found.value, found.low, found.high);
    }
    return 0;
}

int simulate(const std::string &mode) {
    if (mode == "gain")
        return print_gains();
    const Scenario scenario = read_scenario(std::cin);
    SimulatedSystem system(scenario.node, scenario.seed);
    for (const Job &job : scenario.jobs)
        system.add(job);
    const Seconds began = system.now(), until = began + scenario.until;
    auto next = scenario.events.begin();
    const auto happen_until = [&](Seconds moment) {
        while (next != scenario.events.end() && began + next->first <= moment) {
            system.advance(std::max(began + next->first, system.now()));
            system.happen((next++)->second);
        }
        system.advance(std::max(moment, system.now()));
    };
    if (mode == "best" || mode == "decide" || mode == "slots") {
        happen_until(until);
        (mode == "best" ? print_best : mode == "decide" ? time_decision : print_slots)(system, scenario);
        return 0;
    }
    Tuner tuner(scenario.node, scenario.policy, system, [&](const Event &event) { print(event, began); });
    long steps = 0;
    while (system.now() < until) {
        const Seconds due = tuner.step();
        ++steps;
        happen_until(std::min(std::max(due, system.now() + 1e-3), until));
    }
    if (mode == "mixes")
        mix(system, scenario.node);
    for (const Job &job : system.jobs())
        print(job);
    if (mode == "wanders") {
        const Rank &rank = system.jobs().front().ranks.front();
        PuSet elsewhere;
        elsewhere.set(static_cast<std::size_t>(scenario.node.pus.back().os));
        Change change;
        change.moves.push_back({rank.process, rank.mask, elsewhere});
        system.apply(change);
    }
    const auto given = tuner.stop(mode != "forgets" && mode != "keeps");
    // What cannot be given back is as soon as that is possible, by its guard or whoever starts next.
    if (given && given->failed > 0) {
        system.loosen();
        tuner.stop(true);
    }
    tuner.end();
    if (mode == "keeps")
        std::printf("{\"kept\": %s}\n", given ? "false" : "true");
    if (mode != "keeps" || given)
        system.check_restored();
    std::printf("{\"steps\": %ld, \"applied\": %d, \"samples\": %zu, \"unit_looks\": %zu}\n", steps,
                system.applied(), system.samples(), system.unit_looks());
    for (const std::string &violation : system.violations())
        std::printf("{\"violation\": \"%s\"}\n", violation.c_str());
    return system.violations().empty() ? 0 : 1;
}

} // namespace
} // namespace rankwise::tune::simulated

int main(int count, char **words) {
    return rankwise::tune::simulated::simulate(count > 1 ? words[1] : "");
}
