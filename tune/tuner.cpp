// SPDX-License-Identifier: BSD-3-Clause
#include "tuner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "candidates.hpp"
#include "decide/problem.hpp"
#include "event_log.hpp"
#include "group.hpp"
#include "judge/trial.hpp"
#include "moved_interrupts.hpp"
#include "window.hpp"

namespace rankwise::tune {

namespace {

// So many full samples that show nothing, and they get rarer.
constexpr int quiet_samples = 10;
// Behaviours that are known are looked for so often.
constexpr Seconds watch = 0.2;
constexpr std::uint64_t iterations_to_recognise = 4;
// A job is left alone once somebody has changed masks so often after its ranks were moved.
constexpr int most_overruled = 3;

/// Exchanges of two ranks, or what counts as one.
double exchanges(const Change &change) {
    return std::max(1.0, 0.5 * static_cast<double>(change.moves.size()));
}

} // namespace

struct Tuner::State {
    State(const Node &of, const Policy &by, System &through, std::function<void(const Event &)> to)
        : node(of), policy(by), system(through), log(through, std::move(to)) {}

    const Node &node;
    Policy policy;
    System &system;
    EventLog log;

    std::map<std::string, Group> groups;
    std::optional<Trial> trial;
    Mapping trial_mapping;
    MovedInterrupts interrupts;
    bool moves_pages = false;
    std::string left_of; ///< group of which a change could not be taken back whole
    Seconds next_full = 0, next_light = 0, next_units = 0, filled_at = 0;
    double budget = 0, slowed = 1;
    int quiet = 0;
    std::string stood_back, no_journal;
    bool is_journal_back = false;

    void refill(Seconds now) {
        budget = std::min(budget + policy.moves_per_s * (now - filled_at), policy.most_moves);
        filled_at = now;
    }

    // --- who is there ---

    /// Who came and went.
    void meet(const Sample &sample) {
        std::map<std::string, std::set<TaskId>> present;
        for (const RankSample &rank : sample.ranks) {
            auto [entry, is_first] = groups.try_emplace(rank.group);
            Group &group = entry->second;
            if (is_first) {
                group.pause = policy.first_pause;
                group.since = sample.at;
            }
            present[rank.group].insert(rank.process);
            if (rank.threads.empty() || !group.seen.insert(rank.process).second)
                continue;
            for (const ThreadSample &thread : rank.threads)
                group.given |= thread.mask;
            group.allowed |= group.given;
            const PuSet mask = units_of(rank.threads);
            group.masks[rank.process] = {mask, mask, mask};
            forget(group);
            log.add(Event::rank_found, rank.group, "process " + std::to_string(rank.process.number),
                    {rank.progress ? rank.progress->rank : -1});
        }
        for (auto &[name, group] : groups)
            for (auto process = group.seen.begin(); process != group.seen.end();) {
                if (present[name].contains(*process)) {
                    ++process;
                    continue;
                }
                log.add(Event::rank_gone, name, "process " + std::to_string(process->number));
                group.masks.erase(*process);
                group.calls.erase(*process);
                process = group.seen.erase(process);
                forget(group);
            }
        std::erase_if(groups, [&](const auto &each) {
            return each.second.seen.empty() && !present.contains(each.first);
        });
    }

    void forget(Group &group) {
        group.forget();
        quiet = 0;
        slowed = 1;
    }

    /// Masks that somebody else has changed, or the kernel because of a cpuset or a core that went offline,
    /// are what the ranks have now.
    bool heed_others(Group &group) {
        const bool were_moved = group.is_moved();
        ChangedMasks changed =
            group.changed_by_others([&](const TaskId &process) { return system.usable(process); });
        if (changed.ranks.empty())
            return false;
        const Observation &observation = *group.last;
        const bool offline = std::any_of(observation.pus.begin(), observation.pus.end(), [&](const auto &pu) {
            return !pu.second.online && group.allowed.test(static_cast<std::size_t>(pu.first));
        });
        if (!offline) {
            group.allowed = group.given = changed.units;
        }
        log.add(Event::seen, observation.group,
                "masks were changed from outside: what was learned is forgotten", std::move(changed.ranks));
        if (were_moved && changed.by_somebody)
            give_way(observation.group, group);
        forget(group);
        group.acting = false;
        group.quiet_until = system.now() + std::ldexp(policy.first_pause, group.overruled);
        return true;
    }

    /// Whoever has changed masks may do it again: ranks that he has not changed are not left among those that
    /// he has.
    void give_way(const std::string &name, Group &group) {
        group.gives_back = "masks were changed from outside after ranks had been moved";
        if (++group.overruled == most_overruled)
            log.add(Event::refused, name,
                    "masks were changed from outside " + std::to_string(group.overruled) +
                        " times after ranks had been moved: this job is left alone from now on");
    }

    /// Ranks get what they had before they were moved.
    void give_back(const std::string &name, Group &group, const Sample &own) {
        std::vector<TaskId> processes;
        processes.reserve(group.masks.size());
        for (const auto &[process, masks] : group.masks)
            processes.push_back(process);
        if (const std::string failed = system.give_back(processes); !failed.empty())
            return log.add_once(group, name, Event::failed, failed + ": it is tried again");
        Event event;
        event.group = name;
        for (const RankSample &rank : own.ranks) {
            const auto known = group.masks.find(rank.process);
            if (known == group.masks.end())
                continue;
            Masks &masks = known->second;
            const PuSet from = masks.expected;
            masks.keep_to_part();
            masks.set = masks.original;
            masks.expected = cut(masks.original, system.usable(rank.process));
            group.seen_masks = {};
            group.given |= masks.expected;
            group.allowed |= masks.expected;
            if (from == masks.expected)
                continue;
            event.change.moves.push_back({rank.process, from, masks.expected});
            event.ranks.push_back(rank.progress ? rank.progress->rank : -1);
        }
        event.why = std::exchange(group.gives_back, {});
        forget(group);
        group.acting = false;
        group.quiet_until = std::max(group.quiet_until, system.now() + policy.first_pause);
        if (event.change.empty())
            return;
        budget -= exchanges(event.change) / Trial::most_changes;
        event.what = Event::restored;
        event.why = "its ranks have what they had before they were moved: " + event.why;
        log.add(std::move(event));
    }

    /// Whether nothing may be changed, of which the reason is logged once.
    bool stands_back(const Sample &sample) {
        const std::string who = other_movers(sample, {}, {});
        std::string why = who.empty() ? "" : who + " moves processes or pages here, too";
        if (!no_journal.empty())
            why = no_journal;
        if (why != stood_back) {
            stood_back = why;
            std::string seen =
                sample.movers_hidden ? "no other mover is left that can be seen" : "no other mover is left";
            if (is_journal_back)
                seen = "a journal can be written again";
            log.add(why.empty() ? Event::resumed : Event::stood_back, {},
                    why.empty() ? seen : why + ": nothing is done meanwhile");
        }
        return !why.empty();
    }

    /// What nobody could give back after a kill goes back now.
    void heed_journal(const Sample &sample) {
        is_journal_back = sample.no_journal.empty() && !no_journal.empty();
        no_journal = sample.no_journal;
        for (auto &[name, group] : groups)
            if (!no_journal.empty() && group.is_moved() && group.gives_back.empty()) {
                log.add(Event::failed, name, no_journal + ": what was changed is given back");
                group.gives_back = no_journal;
            }
    }

    /// Interrupts go back to where they were once the ranks are gone that they were moved for.
    void give_interrupts_back() {
        if (left_of.empty()) // else the change before is still to be undone
            interrupts.give_back(
                system, log,
                [this](const std::string &name) { return no_journal.empty() && groups.contains(name); },
                no_journal.empty() ? "the ranks are gone that it was moved for" : no_journal,
                policy.longest_pause);
    }

    /// Whether a change that could not be taken back everywhere is now.
    bool has_taken_back() {
        if (!left_of.empty() && system.undo().empty()) {
            log.add(Event::undone, std::exchange(left_of, {}), "what was left of a change is taken back");
            forget_windows();
        }
        return left_of.empty();
    }

    /// Another mapping begins.
    void forget_windows() {
        for (auto &[name, group] : groups) {
            group.base.reset();
            group.middle.reset();
            group.watched.reset();
        }
    }

    // --- looking ---

    Seconds look(Seconds now) {
        const bool is_back = has_taken_back(); // beside another mover, too; and before masks are looked at
        const Sample sample = system.sample(false);
        meet(sample);
        heed_journal(sample);
        if (!moves_pages)
            give_interrupts_back();
        const bool may_act = !stands_back(sample) && is_back && !moves_pages;
        const auto usable = [&](const TaskId &process) { return system.usable(process); };
        bool worth_it = false;
        for (auto &[name, group] : groups) {
            Sample own = part_of(sample, name);
            group.listen(own);
            if (group.seen_masks.empty())
                group.seen_masks = SeenMasks(own, name);
            if (group.base && group.is_narrowed())
                for (const Observation &seen : observe(*group.base, own))
                    if (std::string crowded = group.find_crowded(seen); !crowded.empty())
                        group.gives_back = std::move(crowded);
            if (!group.gives_back.empty() && left_of.empty())
                give_back(name, group, own);
            if (group.base && is_window(group, own, name, policy, 1)) {
                std::vector<Observation> seen = observe(*group.base, own);
                if (!seen.empty()) {
                    group.hold_apart(seen.front());
                    for (const RankLoad &rank : seen.front().ranks)
                        if (rank.stays)
                            log.add_once(
                                group, name, Event::seen,
                                name_of(rank) +
                                    " computes, and no MPI calls of it are seen: it stays where it is");
                    group.keep_units(seen.front(), usable);
                    group.remember_threads(seen.front());
                }
                worth_it |= !seen.empty() && consider(name, std::move(seen.front()), own, now, may_act);
                if (trial)
                    break;
                group.base.reset();
                group.middle.reset();
            } else if (group.base)
                note_middle(group, own, name, policy);
            if (!group.base)
                group.base = std::move(own);
        }
        quiet = worth_it ? 0 : quiet + 1;
        slowed = quiet < quiet_samples ? 1 : std::min(policy.rarest, slowed * 2);
        next_full = now + policy.period * slowed;
        next_light = now + light_period();
        return trial ? now : due_at_all();
    }

    /// Whether the next window has to tell where ranks run, as what is wanted may be tried behind it.
    bool looks_at_units() const {
        return policy.act && budget >= 1 && std::ranges::any_of(groups, [](const auto &each) {
                   const Group &group = each.second;
                   return !group.wanted.empty() && !group.calls.empty() && group.shares_units();
               });
    }

    Seconds light_period() const { return watches() ? watch : policy.period / 2; }

    bool watches() const {
        return policy.act &&
               std::ranges::any_of(groups, [](const auto &each) { return !each.second.known.empty(); });
    }

    /// Light samples are taken where mappings are known, and to see whether a window has two phases.
    Seconds due() const {
        const bool halves = slowed == 1 && std::ranges::any_of(groups, [](const auto &each) {
                                return each.second.base && !each.second.middle;
                            });
        return watches() || halves ? std::min(next_full, next_light) : next_full;
    }

    /// Of either kind of look.
    Seconds due_at_all() const { return looks_at_units() ? std::min(due(), next_units) : due(); }

    /// Between full samples: do the ranks do again what another mapping suited?
    void glance(Seconds now) {
        const Sample sample = system.sample(true);
        next_light = now + light_period();
        for (auto &[name, group] : groups) {
            Sample own = part_of(sample, name);
            group.listen(own);
            note_middle(group, own, name, policy);
            if (group.known.empty() || !group.last)
                continue;
            if (group.watched) {
                const std::optional<std::uint64_t> ended =
                    iterations_between(*group.watched, own, name, group.silent);
                if (ended && *ended < iterations_to_recognise && own.at - group.watched->at < longest_window)
                    continue;
                recognise(name, group, own, now);
                if (trial)
                    return;
            }
            group.watched = std::move(own);
        }
    }

    void recognise(const std::string &name, Group &group, const Sample &own, Seconds now) {
        const Behaviour behaviour =
            behaviour_between(*group.watched, own, name, group.capability, group.silent);
        if (now < group.known_quiet_until || budget < 1 || !stood_back.empty() || !left_of.empty() ||
            !group.gives_back.empty() || behaviour.computation.empty())
            return;
        const Known *const known = group.recognised(behaviour);
        if (!known)
            return;
        // Light samples do not say whether ranks are suspended, and what they do then is nothing.
        const Sample full = system.sample_with_movers();
        const bool stopped = std::ranges::any_of(
            full.ranks, [&](const RankSample &rank) { return rank.group == name && rank.stopped; });
        const Change change = change_to(*group.last, known->mapping);
        if (const std::string changed = group.seen_masks.changed_in(full); !changed.empty()) {
            log.add_once(group, name, Event::refused, changed);
            next_full = now;
            return;
        }
        if (stopped || !other_movers(full, name, change).empty()) {
            group.known_quiet_until = now + policy.first_pause;
            return;
        }
        group.behaviour = behaviour;
        Attempt attempt{name,        change,         0, moved(*group.last, known->mapping),
                        known->rate, known->rate_of, 0, {},
                        group.silent};
        if (const Advance without = advance_between(*group.watched, own, name, known->rate_of, group.silent);
            without.what == Advance::told)
            attempt.without = without.rate;
        start(std::move(attempt), known->mapping);
    }

    // --- deciding ---

    /// @return whether something is to be gained
    bool consider(const std::string &name, Observation seen, const Sample &own, Seconds now, bool may_act) {
        Group &group = groups.at(name);
        // Of ranks of which not all could be given back what they had, each has either mask.
        if (!seen.unusable.empty() || !left_of.empty() || !group.gives_back.empty()) {
            group.last.reset();
            return true;
        }
        group.look_at(std::move(seen), node);
        if (heed_others(group))
            return true;
        const Observation &observation = *group.last;
        const Sample &base = *group.base;
        const std::optional<Sample> &middle = group.middle;
        group.seen_masks = SeenMasks(own, name);
        if (group.overruled >= most_overruled)
            return false;
        if (now >= group.impossible_until)
            group.impossible.clear();
        const double worth = group.acting ? policy.end_below : policy.begin_above;
        const std::vector<Proposal> proposals = worthwhile(observation, group, worth);
        const std::set<std::int64_t> wanted_before = std::exchange(group.wanted, {});
        if (proposals.empty())
            return false;
        if (const std::string why = too_long(group, base, own, name, policy); !why.empty()) {
            log.add_once(group, name, Event::refused, why);
            return true;
        }
        // A window with two phases of the program in it says nothing of either.
        if (measure_of(own, name, group.silent) &&
            (!middle || has_two_phases(group, base, *middle, own, name)))
            return true;
        if (!may_act || now < group.quiet_until)
            return true;
        for (const Proposal &proposal : proposals) {
            if (group.is_held(target_of(proposal.change, proposal.mapping), now))
                continue;
            if (const std::string who = other_movers(own, name, proposal.change); !who.empty())
                log.add_once(group, name, Event::refused, who + " moves what would be moved");
            else {
                // One window may have had a guest in it that is gone; what is to be measured costs progress.
                group.wanted = moved_by(proposal.change);
                if (std::ranges::none_of(group.wanted,
                                         [&](std::int64_t each) { return wanted_before.contains(each); })) {
                    group.wanted_by_clocks = own.clocks_at;
                    return true;
                }
                // Nor may two windows be told by the clocks of one moment.
                if (own.clocks_at == group.wanted_by_clocks && observation.has_low_clock())
                    return true;
                const std::optional<Proposal> now_seen =
                    seen_anew(observation, scope_of(group, worth), proposal,
                              [&](const TaskId &process) { return system.pages_by_numa(process); });
                if (!now_seen || group.is_held(target_of(now_seen->change, now_seen->mapping), now))
                    continue;
                propose(name, group, *now_seen, own);
                return true;
            }
        }
        return true;
    }

    Scope scope_of(const Group &group, double worth) const {
        // Jobs that have run for long are likely to go on for long.
        return {node, group.allowed, worth, system.now() - group.since, group.impossible};
    }

    /// Proposals whose gain is worth it, the best one first.
    std::vector<Proposal> worthwhile(const Observation &observation, Group &group, double worth) {
        std::optional<FreeInterrupts> free;
        if (policy.move_interrupts)
            free = {nobodys(), interrupts.fixed(system.now())};
        Candidates found = find_candidates(observation, scope_of(group, worth), free);
        for (Proposal &each : found.worthwhile)
            interrupts.correct(each.change);
        if (!found.refused.empty())
            log.add_once(group, observation.group, Event::refused, found.refused);
        if (found.has_others && found.worthwhile.empty())
            log.add_once(group, observation.group, Event::seen, "no other mapping is estimated to be better");
        group.acting = !found.worthwhile.empty();
        return std::move(found.worthwhile);
    }

    void propose(const std::string &name, Group &group, const Proposal &proposal, const Sample &own) {
        log.add_once(group, name, proposal);
        if (!policy.act)
            return;
        if (!measure_of(own, name, group.silent))
            log.add_once(
                group, name, Event::refused,
                "its progress cannot be measured, as no rank has a page: start it under `rankwise tune -- "
                "...`");
        else if (budget < 1)
            log.add_once(group, name, Event::refused, "too many changes in a short time");
        else
            start({name,
                   proposal.change,
                   proposal.gain,
                   proposal.ranks,
                   {},
                   {},
                   group.undone,
                   {},
                   group.silent,
                   group.seen_masks},
                  proposal.mapping);
    }

    /// Units that no rank of any group has.
    PuSet nobodys() const {
        PuSet units;
        for (const Pu &pu : node.pus)
            units.set(static_cast<std::size_t>(pu.os));
        for (const auto &[name, group] : groups)
            units &= ~group.allowed;
        return units;
    }

    void start(Attempt attempt, Mapping mapping) {
        trial_mapping = std::move(mapping);
        groups.at(attempt.group).said.clear();
        trial.emplace(std::move(attempt), policy, system, [this](Event event) { log.add(std::move(event)); });
        if (trial->outcome() != Trial::Outcome::under_way)
            learn(system.now());
    }

    // --- learning ---

    /// What a trial showed.
    void learn(Seconds now) {
        const std::string &name = trial->attempt().group;
        budget -= trial->changes() * exchanges(trial->attempt().change) / Trial::most_changes;
        if (trial->is_left())
            left_of = name;
        if (const auto found = groups.find(name); found != groups.end()) {
            Group &group = found->second;
            group.learn(*trial, trial_mapping, policy, node, now);
            interrupts.learn(*trial, now, policy.longest_pause);
            if (trial->outcome() == Trial::Outcome::failed)
                group.keep_to(usable(group));
        }
        trial.reset();
        forget_windows();
        next_full = now;
    }

    /// What the kernel lets a group's ranks have, and units that are offline: these may come back.
    PuSet usable(const Group &group) {
        PuSet units;
        for (const TaskId &process : group.seen)
            units |= system.usable(process);
        if (group.last)
            for (const auto &[pu, load] : group.last->pus)
                if (!load.online)
                    units.set(static_cast<std::size_t>(pu));
        return units;
    }
};

Tuner::Tuner(const Node &node, const Policy &policy, System &system, std::function<void(const Event &)> log)
    : state_(std::make_unique<State>(node, policy, system, std::move(log))) {
    state_->budget = policy.most_moves;
    state_->filled_at = system.now();
    state_->log.add(Event::started, {}, policy.act ? "it acts" : "it only says what it would do");
}

Tuner::~Tuner() = default;

Seconds Tuner::step() {
    State &state = *state_;
    const Seconds now = state.system.now();
    state.refill(now);
    if (state.trial) {
        const Seconds due = state.trial->step();
        if (state.trial->outcome() == Trial::Outcome::under_way)
            return due;
        state.learn(now);
        return now;
    }
    const std::optional<Seconds> next = state.system.go_on();
    state.moves_pages = next.has_value();
    if (next) {
        if (now >= state.next_full)
            state.look(now);
        return *next;
    }
    if (now >= state.next_full)
        return state.look(now);
    if (state.looks_at_units() && now >= state.next_units)
        state.next_units = state.system.look_at_units();
    if (state.due() <= now)
        state.glance(now);
    return state.trial ? now : std::max(state.due_at_all(), now);
}

std::optional<GivenBack> Tuner::stop(bool restore) {
    State &state = *state_;
    if (state.trial) {
        state.trial->abandon("the tuner stops");
        if (state.trial->is_left())
            state.left_of = state.trial->attempt().group;
        state.trial.reset();
    }
    // Of ranks that are to be given back what they had, some may have it already.
    const bool gives_back =
        std::ranges::any_of(state.groups, [](const auto &each) { return !each.second.gives_back.empty(); });
    if (!restore && !gives_back && state.has_taken_back())
        return std::nullopt;
    const GivenBack given = state.system.restore();
    const std::string text = given_back_text(given);
    state.log.add(given.failed > 0 ? Event::failed : Event::restored, {},
                  text.empty() ? "all masks are what they were" : text);
    return given;
}

void Tuner::end() {
    state_->log.add(Event::stopped, {}, {});
}

} // namespace rankwise::tune
