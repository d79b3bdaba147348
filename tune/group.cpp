// SPDX-License-Identifier: BSD-3-Clause
#include "group.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "decide/problem.hpp"

namespace rankwise::tune {

namespace {

// Behaviours are the same if no rank computes for another part of the longest computation, but for noise.
constexpr double same_behaviour = 0.15;
// Interrupts or others that take so much more or less of a core are something new.
constexpr double same_capability = 0.2;
constexpr std::size_t most_known = 32;
// A rank that makes no MPI call for so long tells nothing: no window of a trial is as long.
constexpr Seconds silent_after = 10;

/// Of each rank's units.
std::vector<double> capabilities(const Observation &observation, const Node &node, const Mapping &mapping,
                                 const Silent &silent) {
    int busy_threads = 1;
    for (const RankLoad &rank : observation.ranks)
        busy_threads = std::max(busy_threads, rank.busy_threads);
    std::vector<double> found = capabilities(observation, node, mapping, busy_threads);
    // What they do is no part of what the job does: nothing of it tells phases apart.
    for (std::size_t rank = 0; rank < observation.ranks.size(); ++rank)
        if (silent.contains(observation.ranks[rank].process))
            found[rank] = 0;
    return found;
}

bool is_narrow(const Masks &masks) {
    return masks.set != masks.original && masks.set.count() < masks.original.count();
}

bool are_alike(const std::vector<double> &a, const std::vector<double> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double one, double other) { return std::abs(one - other) <= same_capability; });
}

} // namespace

void Masks::keep_to_part() {
    if (!std::exchange(bound_within, false))
        return;
    original = exchanged(expected, set, original);
    set = expected;
}

double distance(const Behaviour &a, const Behaviour &b) {
    return difference(a.computation, b.computation);
}

bool are_same(const Behaviour &a, const Behaviour &b) {
    return distance(a, b) < same_behaviour + a.noise + b.noise;
}

void Group::forget() {
    known.clear();
    failed.clear();
    impossible.clear();
    said.clear();
    wanted.clear();
    last.reset();
    base.reset();
    middle.reset();
    watched.reset();
}

void Group::listen(const Sample &sample) {
    Silent found;
    bool any = false;
    for (const RankSample &rank : sample.ranks) {
        if (!rank.progress) {
            found.insert(rank.process);
            continue;
        }
        const Calls now{rank.progress->calls, sample.at};
        Calls &before = calls.try_emplace(rank.process, now).first->second;
        if (before.count != now.count)
            before = now;
        if (sample.at - before.since >= silent_after)
            found.insert(rank.process);
        else
            any = true;
    }
    // Where none makes calls, they compute or read for long: none tells more than the others.
    silent = any ? found : Silent{};
}

bool Group::shares_units() const {
    PuSet units;
    return last && std::ranges::any_of(last->ranks, [&](const RankLoad &rank) {
               const bool shares = (units & rank.mask).any();
               units |= rank.mask;
               return shares;
           });
}

void Group::hold_apart(Observation &observation) const {
    for (RankLoad &rank : observation.ranks)
        rank.stays = silent.contains(rank.process) && rank.computes >= busy_share;
}

void Group::remember_threads(Observation &observation) const {
    for (RankLoad &rank : observation.ranks)
        rank.busy_threads = std::max(rank.busy_threads, threads);
}

void Group::keep_units(Observation &observation, const std::function<PuSet(const TaskId &)> &usable) const {
    for (RankLoad &rank : observation.ranks) {
        const auto known = masks.find(rank.process);
        if (known == masks.end() || (rank.mask & ~known->second.expected).any() ||
            rank.mask == known->second.expected)
            continue;
        // Whoever binds all of its threads to one part means that.
        const bool are_apart = rank.pinned || (known->second.pinned && !rank.rebound);
        if (are_apart && (known->second.expected & ~usable(rank.process)).none()) {
            rank.mask = known->second.expected;
            rank.pinned = true;
        }
    }
}

std::string Group::find_crowded(const Observation &observation) {
    std::string found;
    for (const RankLoad &rank : observation.ranks) {
        const auto known = masks.find(rank.process);
        if (known == masks.end() || !is_narrow(known->second) || rank.mask != known->second.expected ||
            rank.threads() <= static_cast<int>(rank.mask.count()))
            continue;
        threads = std::max(threads, rank.threads());
        found = name_of(rank) + " has use for " + std::to_string(rank.threads()) +
                " processing units, and was bound to " + std::to_string(rank.mask.count());
    }
    return found;
}

void Group::look_at(Observation shown, const Node &node) {
    const Observation &observation = last.emplace(std::move(shown));
    mapping.clear();
    mapping.reserve(observation.ranks.size());
    std::vector<double> outside;
    for (const RankLoad &rank : observation.ranks) {
        mapping.push_back(rank.mask);
        outside.push_back(rank.outside_mpi);
    }
    capability = capabilities(observation, node, mapping, silent);
    behaviour = {signature(outside, capability), 0};
    environment.clear();
    for (const auto &[pu, load] : observation.pus)
        if (allowed.test(static_cast<std::size_t>(pu)))
            environment.push_back(load.capability());
}

ChangedMasks Group::changed_by_others(const std::function<PuSet(const TaskId &)> &usable) {
    ChangedMasks changed;
    for (const RankLoad &rank : last->ranks) {
        Masks &known = masks[rank.process];
        known.pinned = rank.pinned;
        if (std::exchange(known.expected, rank.mask) != rank.mask) {
            changed.ranks.push_back(rank.rank);
            const PuSet units = usable(rank.process);
            const bool by_kernel = (rank.mask & units) == cut(known.set, units);
            known.bound_within = !by_kernel && is_bound_within(rank.mask, known.set, known.original);
            if (!by_kernel && !known.bound_within) {
                changed.by_somebody = true;
                known.original = known.set = rank.mask;
            }
        }
        changed.units |= known.bound_within ? known.set : rank.mask;
    }
    return changed;
}

bool Group::is_moved() const {
    return std::ranges::any_of(masks,
                               [](const auto &each) { return each.second.set != each.second.original; });
}

bool Group::is_narrowed() const {
    return std::ranges::any_of(masks, [](const auto &each) { return is_narrow(each.second); });
}

const Known *Group::recognised(const Behaviour &now) const {
    const Known *nearest = nullptr;
    for (const Known &each : known)
        if (each.silent == silent && are_same(each.behaviour, now) &&
            (!nearest || distance(each.behaviour, now) < distance(nearest->behaviour, now)))
            nearest = &each;
    return nearest && nearest->mapping != mapping ? nearest : nullptr;
}

bool Group::is_held(const std::string &target, Seconds now) const {
    return std::any_of(failed.begin(), failed.end(), [&](const Failed &each) {
        return each.target == target && now < each.until && are_same(each.behaviour, behaviour) &&
               are_alike(each.environment, environment);
    });
}

void Group::learn(const Trial &trial, const Mapping &to, const Policy &policy, const Node &node,
                  Seconds now) {
    std::erase_if(failed, [&](const Failed &each) { return each.until + policy.longest_pause < now; });
    if (trial.outcome() == Trial::Outcome::kept)
        return keep(trial, to, policy, node, now);
    // A mapping that was measured before is no new attempt.
    const bool is_known = trial.attempt().expected.has_value();
    if (trial.outcome() == Trial::Outcome::undone) {
        acting = false;
        undone += is_known ? 0 : 1;
        if (is_known)
            std::erase_if(known, [&](const Known &each) {
                return each.mapping == to && are_same(each.behaviour, behaviour);
            });
    }
    if (trial.outcome() == Trial::Outcome::failed && trial.changes() == 0 && !trial.is_left()) {
        impossible.push_back(to);
        impossible_until = now + policy.longest_pause;
    }
    // What came between says nothing of the change.
    if (trial.outcome() != Trial::Outcome::nothing_learned)
        hold(target_of(trial.attempt().change, to), policy, now);
    Seconds &until = is_known ? known_quiet_until : quiet_until;
    Seconds &next = is_known ? known_pause : pause;
    next = std::max(next, policy.first_pause);
    until = now + next;
    next = std::min(2 * next, policy.longest_pause);
}

void Group::keep(const Trial &trial, const Mapping &to, const Policy &policy, const Node &node, Seconds now) {
    known_pause = policy.first_pause;
    if (!trial.attempt().expected) { // else nothing was measured that speaks for other changes
        pause = policy.first_pause;
        undone = 0;
        // It was measured that what it was before is slower.
        if (to != mapping)
            failed.push_back({behaviour, environment, target_of({}, mapping), now + policy.longest_pause,
                              policy.longest_pause});
        std::erase_if(known, [&](const Known &each) { return are_same(each.behaviour, behaviour); });
        if (known.size() == most_known)
            known.erase(known.begin());
        known.push_back({behaviour, to, trial.rate(), *trial.rate_of(), trial.attempt().silent});
    }
    set_masks(to, node);
}

void Group::hold(const std::string &target, const Policy &policy, Seconds now) {
    const auto again = std::find_if(failed.begin(), failed.end(), [&](const Failed &each) {
        return each.target == target && are_same(each.behaviour, behaviour) &&
               are_alike(each.environment, environment);
    });
    Seconds held = policy.first_pause;
    if (again != failed.end()) {
        held = std::min(2 * again->pause, policy.longest_pause);
        failed.erase(again);
    }
    failed.push_back({behaviour, environment, target, now + held, held});
}

void Group::set_masks(const Mapping &of, const Node &node) {
    mapping = of;
    seen_masks = {};
    if (!last)
        return;
    for (std::size_t rank = 0; rank < of.size(); ++rank) {
        last->ranks[rank].mask = of[rank];
        Masks &known = masks[last->ranks[rank].process];
        if (known.expected == of[rank])
            continue;
        known.keep_to_part();
        known.set = known.expected = of[rank];
    }
    capability = capabilities(*last, node, of, silent);
}

void Group::keep_to(const PuSet &usable) {
    allowed = given & usable;
    std::erase_if(known, [&](const Known &each) {
        return std::any_of(each.mapping.begin(), each.mapping.end(),
                           [&](const PuSet &units) { return (units & ~allowed).any(); });
    });
}

Sample part_of(const Sample &sample, const std::string &group) {
    Sample part;
    part.at = sample.at;
    part.light = sample.light;
    std::copy_if(sample.ranks.begin(), sample.ranks.end(), std::back_inserter(part.ranks),
                 [&](const RankSample &rank) { return rank.group == group; });
    part.pus = sample.pus;
    part.memory_bytes = sample.memory_bytes;
    part.counted_at_memory = sample.counted_at_memory;
    part.clocks_at = sample.clocks_at;
    part.movers = sample.movers;
    part.movers_hidden = sample.movers_hidden;
    return part;
}

std::optional<std::uint64_t> iterations_between(const Sample &before, const Sample &after,
                                                const std::string &group, const Silent &silent) {
    if (measure_of(after, group, silent) != RateOf::iterations)
        return std::nullopt;
    const Advance advance = advance_between(before, after, group, RateOf::iterations, silent);
    if (advance.what == Advance::told)
        return advance.least;
    return advance.what == Advance::waits ? std::optional<std::uint64_t>(0) : std::nullopt;
}

Behaviour behaviour_between(const Sample &before, const Sample &after, const std::string &group,
                            const std::vector<double> &capability, const Silent &silent) {
    const std::vector<double> outside = outside_mpi(before, after, group);
    if (outside.size() != capability.size())
        return {};
    // A window ends somewhere in an iteration: half of one too much or too little of its computation.
    const std::optional<std::uint64_t> iterations = iterations_between(before, after, group, silent);
    const double noise = iterations ? 0.5 / static_cast<double>(std::max<std::uint64_t>(*iterations, 1)) : 0;
    return {signature(outside, capability), noise};
}

std::string target_of(const Change &change, const Mapping &mapping) {
    std::string text;
    // An interrupt that does not help there does not elsewhere.
    for (const Change::Interrupt &interrupt : change.interrupts)
        text += "irq" + std::to_string(interrupt.number) + ";";
    if (!text.empty())
        return text;
    for (const PuSet &units : mapping)
        text += list_text(units) + ";";
    for (const Change::Pages &pages : change.pages)
        text += std::to_string(pages.process.number) + "@" + std::to_string(pages.to_numa) + ";";
    return text;
}

std::set<std::int64_t> moved_by(const Change &change) {
    std::set<std::int64_t> moved;
    for (const RankMove &move : change.moves)
        moved.insert(move.process.number);
    for (const Change::Pages &pages : change.pages)
        moved.insert(pages.process.number);
    for (const Change::Interrupt &interrupt : change.interrupts)
        moved.insert(-1 - std::int64_t{interrupt.number});
    return moved;
}

std::vector<std::int32_t> moved(const Observation &observation, const Mapping &mapping) {
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < mapping.size(); ++rank)
        if (observation.ranks[rank].mask != mapping[rank])
            ranks.push_back(observation.ranks[rank].rank);
    return ranks;
}

} // namespace rankwise::tune
