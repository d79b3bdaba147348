// SPDX-License-Identifier: BSD-3-Clause
#include "tuner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "decide/proposal.hpp"
#include "judge/trial.hpp"

namespace rankwise::tune {

namespace {

// Behaviours nearer to each other than this are the same.
constexpr double same_behaviour = 0.1;
// Interrupts or others that take so much more or less of a core are something new.
constexpr double same_capability = 0.2;
constexpr std::size_t most_known = 32;
// Full samples get rarer, up to this many periods, while nothing changes.
constexpr double slowest = 4;
constexpr int quiet_samples = 10;
// Behaviours that are known are looked for so often.
constexpr Seconds watch = 0.2;

/// A mapping that was kept, and what the ranks did then.
struct Known {
    std::vector<double> signature;
    Mapping mapping;
    double rate;
    RateOf rate_of;
};

struct Failed {
    std::vector<double> signature, environment;
    Mapping mapping;
    Seconds until, pause;
};

struct Group {
    PuSet allowed;
    std::map<TaskId, PuSet> expected; ///< masks that its ranks have if nobody else changes them
    std::set<TaskId> seen;
    bool acting = false; ///< above the one threshold, and not yet below the other
    Seconds quiet_until = 0, pause;
    std::vector<Known> known;
    std::vector<Failed> failed;
    int undone = 0;                  ///< attempts since the last that was kept
    std::vector<double> environment; ///< capability of each unit that is allowed
    std::string said;                ///< last reason or proposal that was logged
    std::set<std::string> proposed;  ///< changes that were logged since the last attempt
    std::optional<Observation> last;
    std::vector<double> signature;  ///< of `last`
    std::vector<double> capability; ///< of the ranks' units then
    Mapping mapping;                ///< of `last`, and what was kept since
};

std::vector<double> capabilities(const Observation &observation, const Mapping &mapping) {
    std::vector<double> found;
    for (const PuSet &units : mapping) {
        double sum = 0;
        for (std::size_t pu = units._Find_first(); pu < most_pus; pu = units._Find_next(pu)) {
            const auto load = observation.pus.find(static_cast<std::int32_t>(pu));
            sum += load == observation.pus.end() ? 1 : load->second.capability();
        }
        found.push_back(units.any() ? sum / static_cast<double>(units.count()) : 1);
    }
    return found;
}

/// Whether ranks do what they did when a mapping did not help, and nothing else uses cores otherwise.
bool is_as_then(const Failed &failed, const Group &group) {
    if (difference(failed.signature, group.signature) >= same_behaviour ||
        failed.environment.size() != group.environment.size())
        return false;
    for (std::size_t unit = 0; unit < group.environment.size(); ++unit)
        if (std::abs(failed.environment[unit] - group.environment[unit]) > same_capability)
            return false;
    return true;
}

std::vector<std::int32_t> moved(const Observation &observation, const Mapping &mapping) {
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < mapping.size(); ++rank)
        if (observation.ranks[rank].mask != mapping[rank])
            ranks.push_back(observation.ranks[rank].rank);
    return ranks;
}

std::string described(const Change &change) {
    std::string text;
    for (const RankMove &move : change.moves)
        text += std::to_string(move.process.number) + ":" + list_text(move.to) + ";";
    for (const Change::Pages &pages : change.pages)
        text += std::to_string(pages.process.number) + "@" + std::to_string(pages.to_numa) + ";";
    for (const Change::Interrupt &interrupt : change.interrupts)
        text += "irq" + std::to_string(interrupt.number) + ":" + list_text(interrupt.to) + ";";
    return text;
}

} // namespace

struct Tuner::State {
    State(const Node &of, const Policy &by, System &through, std::function<void(const Event &)> to)
        : node(of), policy(by), system(through), out(std::move(to)) {}

    const Node &node;
    Policy policy;
    System &system;
    std::function<void(const Event &)> out;

    std::map<std::string, Group> groups;
    std::optional<Trial> trial;
    Mapping trial_mapping;
    std::optional<Sample> full, light, before; ///< `before`: the light sample before the last
    Seconds next_full = 0, next_light = 0, filled_at = 0;
    double budget = 0, slowed = 1;
    int quiet = 0;
    std::string stood_back;

    void log(Event event) {
        event.at = system.now();
        out(event);
    }

    void say(const std::string &name, Event::What what, const std::string &why,
             const Proposal *proposal = nullptr) {
        Group &group = groups.at(name);
        if (group.said == why)
            return;
        group.said = why;
        Event event;
        event.what = what;
        event.group = name;
        event.why = why;
        if (proposal) {
            event.change = proposal->change;
            event.ranks = proposal->ranks;
            event.estimated_gain = proposal->gain;
        }
        log(event);
    }

    void refill(Seconds now) {
        budget = std::min(budget + policy.moves_per_s * (now - filled_at), policy.most_moves);
        filled_at = now;
    }

    /// Who came and went.
    void meet(const Sample &sample) {
        std::map<std::string, std::set<TaskId>> present;
        for (const RankSample &rank : sample.ranks) {
            auto [entry, is_new] = groups.try_emplace(rank.group);
            Group &group = entry->second;
            if (is_new)
                group.pause = policy.first_pause;
            present[rank.group].insert(rank.process);
            if (rank.threads.empty() || !group.seen.insert(rank.process).second)
                continue;
            for (const ThreadSample &thread : rank.threads)
                group.allowed |= thread.mask;
            group.expected[rank.process] = rank.threads.front().mask;
            forget(group);
            Event event;
            event.what = Event::rank_found;
            event.group = rank.group;
            event.why = "process " + std::to_string(rank.process.number);
            event.ranks = {rank.progress ? rank.progress->rank : -1};
            log(event);
        }
        for (auto &[name, group] : groups)
            for (auto process = group.seen.begin(); process != group.seen.end();) {
                if (present[name].contains(*process)) {
                    ++process;
                    continue;
                }
                Event event;
                event.what = Event::rank_gone;
                event.group = name;
                event.why = "process " + std::to_string(process->number);
                log(event);
                group.expected.erase(*process);
                process = group.seen.erase(process);
                forget(group);
            }
        std::erase_if(groups, [&](const auto &each) {
            return each.second.seen.empty() && !present.contains(each.first);
        });
    }

    /// What was learned is of other ranks.
    void forget(Group &group) {
        group.known.clear();
        group.failed.clear();
        group.proposed.clear();
        group.last.reset();
        quiet = 0;
        slowed = 1;
    }

    /// Masks that somebody else has changed, or the kernel because of a cpuset or a core that went offline,
    /// are what the ranks have now.
    void heed_others(Group &group, const Observation &observation) {
        PuSet all;
        std::vector<std::int32_t> changed;
        for (const RankLoad &rank : observation.ranks) {
            all |= rank.mask;
            if (std::exchange(group.expected[rank.process], rank.mask) != rank.mask)
                changed.push_back(rank.rank);
        }
        if (changed.empty())
            return;
        const bool offline = std::any_of(observation.pus.begin(), observation.pus.end(), [&](const auto &pu) {
            return !pu.second.online && group.allowed.test(static_cast<std::size_t>(pu.first));
        });
        if (!offline)
            group.allowed = all;
        forget(group);
        group.acting = false;
        group.quiet_until = system.now() + policy.first_pause;
        Event event;
        event.what = Event::seen;
        event.group = observation.group;
        event.why = "masks were changed from outside: what was learned is forgotten";
        event.ranks = std::move(changed);
        log(std::move(event));
    }

    bool stands_back(const Sample &sample) {
        const std::string who = other_movers(sample, policy);
        if (who != stood_back) {
            stood_back = who;
            Event event;
            event.what = Event::stood_back;
            event.why = who.empty() ? "no other mover is left"
                                    : who + " moves processes or pages here, too: nothing is done meanwhile";
            log(event);
        }
        return !who.empty();
    }

    Seconds look(Seconds now) {
        Sample sample = system.sample(false);
        meet(sample);
        std::vector<Observation> observations;
        if (full)
            observations = observe(*full, sample);
        const bool back = stands_back(sample);
        before = std::exchange(light, sample);
        full = std::move(sample);
        bool worth_it = false;
        for (Observation &observation : observations) {
            if (!groups.contains(observation.group))
                continue;
            worth_it |= consider(observation, now, back);
            if (trial)
                break;
        }
        quiet = worth_it ? 0 : quiet + 1;
        slowed = quiet < quiet_samples ? 1 : std::min(slowest, slowed * 2);
        next_full = now + policy.period * slowed;
        next_light = now + watch;
        return due();
    }

    Seconds due() const {
        const bool watches = policy.act && std::any_of(groups.begin(), groups.end(), [](const auto &each) {
                                 return !each.second.known.empty();
                             });
        return watches ? std::min(next_full, next_light) : next_full;
    }

    /// @return whether something is to be gained
    bool consider(const Observation &observation, Seconds now, bool back) {
        const std::string &name = observation.group;
        Group &group = groups.at(name);
        if (!observation.unusable.empty()) {
            group.last.reset();
            return true;
        }
        heed_others(group, observation);
        group.last = observation;
        group.mapping.clear();
        std::vector<double> outside;
        for (const RankLoad &rank : observation.ranks) {
            group.mapping.push_back(rank.mask);
            outside.push_back(rank.outside_mpi);
        }
        group.capability = capabilities(observation, group.mapping);
        group.signature = signature(outside, group.capability);
        group.environment.clear();
        for (const auto &[pu, load] : observation.pus)
            if (group.allowed.test(static_cast<std::size_t>(pu)))
                group.environment.push_back(load.capability());
        // A window with two phases of the program in it says nothing of either.
        const std::vector<double> recently =
            before && light ? outside_mpi(*before, *light, name) : std::vector<double>{};
        if (!recently.empty() &&
            difference(signature(recently, group.capability), group.signature) > same_behaviour)
            return true;
        const double worth = group.acting ? policy.end_below : policy.begin_above;
        Decision decision = decide(observation, node, group.allowed, worth);
        if (policy.move_interrupts) {
            std::optional<Proposal> interrupt = decide_interrupt(observation, node, group.allowed, nobodys());
            if (interrupt && (!decision.proposal || interrupt->gain >= decision.proposal->gain))
                decision.proposal = std::move(interrupt);
        }
        if (!decision.proposal) {
            group.acting = false;
            if (!decision.refused.empty())
                say(name, Event::refused, decision.refused);
            return false;
        }
        Proposal &proposal = *decision.proposal;
        if (proposal.gain < worth) {
            group.acting = false;
            say(name, Event::seen, "no other mapping is estimated to be better");
            return false;
        }
        group.acting = true;
        if (back || now < group.quiet_until)
            return true;
        for (const Failed &failed : group.failed)
            if (failed.mapping == proposal.mapping && now < failed.until && is_as_then(failed, group))
                return true;
        if (group.proposed.insert(described(proposal.change)).second)
            say(name, Event::proposed, proposal.why, &proposal);
        if (!policy.act)
            return true;
        if (budget < 1) {
            say(name, Event::refused, "too many changes in a short time", &proposal);
            return true;
        }
        start({name, proposal.change, proposal.gain, proposal.ranks, {}, {}, group.undone}, proposal.mapping);
        return true;
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
        budget -= 1;
        trial_mapping = std::move(mapping);
        groups.at(attempt.group).said.clear();
        groups.at(attempt.group).proposed.clear();
        trial.emplace(std::move(attempt), policy, system, [this](Event event) { log(std::move(event)); });
        if (trial->outcome() != Trial::Outcome::under_way)
            learn(system.now());
    }

    /// Between full samples: do the ranks do again what another mapping suited?
    void recognise(Seconds now) {
        Sample sample = system.sample(true);
        for (auto &[name, group] : groups) {
            if (group.known.empty() || !group.last || now < group.quiet_until || budget < 1 || !light ||
                !stood_back.empty())
                continue;
            const std::vector<double> outside = outside_mpi(*light, sample, name);
            if (outside.size() != group.capability.size())
                continue;
            const std::vector<double> now_done = signature(outside, group.capability);
            const Known *nearest = nullptr;
            for (const Known &known : group.known)
                if (difference(known.signature, now_done) < same_behaviour &&
                    (!nearest ||
                     difference(known.signature, now_done) < difference(nearest->signature, now_done)))
                    nearest = &known;
            if (!nearest || nearest->mapping == group.mapping)
                continue;
            Attempt attempt{name,
                            change_to(*group.last, nearest->mapping),
                            0,
                            moved(*group.last, nearest->mapping),
                            nearest->rate,
                            nearest->rate_of};
            group.signature = now_done;
            light = std::move(sample);
            start(std::move(attempt), nearest->mapping);
            return;
        }
        light = std::move(sample);
        next_light = now + watch;
    }

    /// What a trial showed.
    void learn(Seconds now) {
        const auto found = groups.find(trial->attempt().group);
        const Trial::Outcome outcome = trial->outcome();
        if (found != groups.end()) {
            Group &group = found->second;
            std::erase_if(group.failed,
                          [&](const Failed &each) { return each.until + policy.longest_pause < now; });
            const auto same = [&](const auto &each) {
                return difference(each.signature, group.signature) < same_behaviour;
            };
            if (outcome == Trial::Outcome::kept) {
                group.pause = policy.first_pause;
                group.undone = 0;
                if (!trial->attempt().expected) {
                    // It was measured that what it was before is slower.
                    if (trial_mapping != group.mapping)
                        group.failed.push_back({group.signature, group.environment, group.mapping,
                                                now + policy.longest_pause, policy.longest_pause});
                    std::erase_if(group.known, same);
                    if (group.known.size() == most_known)
                        group.known.erase(group.known.begin());
                    group.known.push_back({group.signature, trial_mapping, trial->rate(), *trial->rate_of()});
                }
                set_masks(group, trial_mapping);
            } else if (outcome == Trial::Outcome::undone) {
                group.acting = false;
                ++group.undone;
                if (trial->attempt().expected)
                    std::erase_if(group.known, [&](const Known &each) {
                        return each.mapping == trial_mapping && same(each);
                    });
                const auto again =
                    std::find_if(group.failed.begin(), group.failed.end(), [&](const Failed &each) {
                        return each.mapping == trial_mapping && is_as_then(each, group);
                    });
                const Seconds pause = again == group.failed.end()
                                          ? policy.first_pause
                                          : std::min(2 * again->pause, policy.longest_pause);
                if (again != group.failed.end())
                    group.failed.erase(again);
                group.failed.push_back(
                    {group.signature, group.environment, trial_mapping, now + pause, pause});
                group.quiet_until = now + group.pause;
                group.pause = std::min(2 * group.pause, policy.longest_pause);
            } else if (outcome == Trial::Outcome::failed) {
                // A rank has ended, or the kernel does not let it go there any more.
                if (group.last) {
                    group.allowed.reset();
                    for (const RankLoad &rank : group.last->ranks)
                        group.allowed |= rank.mask;
                }
                group.quiet_until = now + group.pause;
                group.pause = std::min(2 * group.pause, policy.longest_pause);
            } else
                group.quiet_until = now + policy.first_pause;
        }
        trial.reset();
        // The windows of the next decision must not have the trial in them.
        full.reset();
        next_full = now;
    }

    static void set_masks(Group &group, const Mapping &mapping) {
        group.mapping = mapping;
        if (!group.last)
            return;
        for (std::size_t rank = 0; rank < mapping.size(); ++rank) {
            group.last->ranks[rank].mask = mapping[rank];
            group.expected[group.last->ranks[rank].process] = mapping[rank];
        }
        group.capability = capabilities(*group.last, mapping);
    }
};

Tuner::Tuner(const Node &node, const Policy &policy, System &system, std::function<void(const Event &)> log)
    : state_(std::make_unique<State>(node, policy, system, std::move(log))) {
    state_->budget = policy.most_moves;
    state_->filled_at = system.now();
    Event event;
    event.what = Event::started;
    event.why = policy.act ? "it acts" : "it only says what it would do";
    state_->log(event);
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
    if (const std::optional<Seconds> next = state.system.go_on())
        return *next;
    if (now >= state.next_full)
        return state.look(now);
    if (state.due() <= now)
        state.recognise(now);
    return state.trial ? now : std::max(state.due(), now);
}

void Tuner::stop(bool restore) {
    State &state = *state_;
    if (state.trial) {
        state.trial->abandon("the tuner stops");
        state.trial.reset();
    }
    if (restore) {
        state.system.restore();
        Event event;
        event.what = Event::restored;
        event.why = "all masks are what they were";
        state.log(event);
    }
    Event event;
    event.what = Event::stopped;
    state.log(event);
}

} // namespace rankwise::tune
