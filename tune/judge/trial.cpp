// SPDX-License-Identifier: BSD-3-Clause
#include "judge/trial.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankwise::tune {

namespace {

constexpr double iterations_in_window = 4;
// Fewer are too coarse a measure of a window.
constexpr std::uint64_t calls_in_window = 16;
constexpr Seconds longest_window = 3;
// A rank that ends no iteration for so long does something else: it is judged by its calls.
constexpr Seconds longest_iteration = 30;
constexpr Seconds longest_trial = 600;
constexpr int windows_to_confirm = 3;
// Where the rate varies much, of the policy's.
constexpr int most_times_windows = 4;
// A sample that comes so much later than it should: the clock jumped, or the machine stood still.
constexpr double late = 3;
// Part of a rank's time by which it computes more or less in another phase of the program, ...
constexpr double another_phase = 0.15;
// ... and standard errors: of a thousand ranks, one exceeds them by chance one time in sixteen.
constexpr double beyond_noise = 4;
// Of the rate that a mapping had when it was kept: the rest may be noise.
constexpr double as_fast_as_then = 0.95;
// A change is bad with which no iteration ends in the time of so many, and in a second.
constexpr double far_too_long = 20;
constexpr Seconds least_wait = 1;

double mean(const std::vector<double> &values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// A rank's share in each window.
std::vector<double> column(const std::vector<std::vector<double>> &windows, std::size_t rank) {
    std::vector<double> values;
    values.reserve(windows.size());
    for (const std::vector<double> &window : windows)
        values.push_back(window[rank]);
    return values;
}

/// Square of the standard error of the mean.
double squared_error(const std::vector<double> &values) {
    const double middle = mean(values), count = static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values)
        squares += (value - middle) * (value - middle);
    return values.size() < 2 ? 0 : squares / (count - 1) / count;
}

Change inverse(const Change &change) {
    Change back;
    for (const RankMove &move : change.moves)
        back.moves.push_back({move.process, move.to, move.from});
    for (const Change::Interrupt &interrupt : change.interrupts)
        back.interrupts.push_back({interrupt.number, interrupt.to, interrupt.from});
    for (const Change::Pages &pages : change.pages)
        back.pages.push_back({pages.process, pages.to_numa, pages.from_numa});
    return back;
}

} // namespace

std::string other_movers(const Sample &sample, const std::string &group, const Change &change) {
    // AutoNUMA moves pages, and ranks within their masks: those that are not bound.
    const bool beside_autonuma =
        change.pages.empty() && std::ranges::all_of(change.moves, [](const RankMove &move) {
            return move.from.count() == move.to.count();
        });
    std::string who;
    for (const std::string &mover : sample.movers) {
        if ((mover == "irqbalance" && change.interrupts.empty()) || (mover == "AutoNUMA" && beside_autonuma))
            continue;
        who += (who.empty() ? "" : ", ") + mover;
    }
    if (std::ranges::any_of(sample.ranks,
                            [&](const RankSample &rank) { return rank.has_dlb && rank.group == group; }))
        who += (who.empty() ? "" : ", ") + std::string("DLB");
    return who;
}

Trial::Trial(Attempt attempt, const Policy &policy, System &system, std::function<void(Event)> log)
    : attempt_(std::move(attempt)), policy_(policy), system_(system), log_(std::move(log)),
      what_(attempt_.rate_of), began_(system.now()), since_(began_), seen_(began_), window_(policy.window) {
    if (!attempt_.expected)
        due_ = began_;
    else if (apply("known to suit what the ranks do now"))
        due_ = begin(Part::with);
}

Seconds Trial::longest_measured(const Policy &policy) {
    return longest_trial / (most_changes * (policy.windows + 1));
}

double Trial::rate() const {
    return mean(rates_[static_cast<std::size_t>(Part::with)]);
}

Seconds Trial::begin(Part part) {
    part_ = part;
    last_.reset();
    held_.reset();
    since_ = seen_ = system_.now();
    return since_ + policy_.settle;
}

bool Trial::apply(const char *why) {
    const std::string failed = system_.apply(attempt_.change);
    if (!failed.empty()) {
        left_ = system_.is_stuck(); // of ranks that are halfway, the masks say nothing
        end(Outcome::failed, Event::failed, failed);
        return false;
    }
    applied_ = true;
    log_applied(attempt_.change, why);
    return true;
}

bool Trial::undo(const char *why) {
    const std::string kept = system_.undo();
    applied_ = false;
    log_applied(inverse(attempt_.change), why);
    left_ = !kept.empty();
    if (left_)
        end(Outcome::failed, Event::failed, kept + ": it is tried again");
    return !left_;
}

void Trial::log_applied(const Change &change, const char *why) {
    ++changes_;
    Event event;
    event.what = Event::applied;
    event.group = attempt_.group;
    event.change = change;
    event.ranks = attempt_.ranks;
    event.why = why;
    log_(event);
}

Seconds Trial::step() {
    if (outcome_ != Outcome::under_way || system_.now() < due_)
        return due_;
    if (const std::optional<Seconds> next = system_.go_on()) {
        if (!std::exchange(moving_, true))
            moves_since_ = system_.now();
        due_ = *next;
        if (applied_ && system_.now() - moves_since_ > longest_trial)
            abandon("its pages cannot be moved in " + std::to_string(static_cast<int>(longest_trial)) + " s");
        return due_;
    }
    if (std::exchange(moving_, false)) {
        began_ += system_.now() - moves_since_; // nothing was measured meanwhile
        return due_ = begin(part_);
    }
    take(system_.sample(!suspended_));
    if (outcome_ != Outcome::under_way)
        return due_;
    const auto count = static_cast<int>(rates().size());
    if (part_ == Part::with && attempt_.expected ? count >= windows_to_confirm : are_enough(count))
        return due_ = next_part();
    if (part_ == Part::with && count >= windows_to_confirm && !attempt_.expected && hopeless()) {
        gain_ = gain(rates_[0], rates_[1], {});
        if (undo("slower with it"))
            end(Outcome::undone, Event::undone, "the job is slower with it");
        return due_;
    }
    if (dropped_ > 2 * std::max(policy_.windows, static_cast<int>(rates_[0].size())))
        abandon("progress cannot be measured: ranks stood still, or windows came late");
    else if (system_.now() - began_ > longest_trial)
        abandon("progress cannot be measured in " + std::to_string(static_cast<int>(longest_trial)) + " s");
    else
        due_ = system_.now() + window_;
    return due_;
}

/// Without the change, windows are added until as many with it could tell the estimate from nothing. How much
/// the rate varies decides that, not what it is: as in Stein's procedure (Annals of Mathematical Statistics
/// 16(3), 1945), but looked at after each window.
bool Trial::are_enough(int count) const {
    // Of what nothing got on with, only that is asked (take_rate, wait_on).
    if (part_ != Part::before)
        return !starved_ && count >= static_cast<int>(rates_[0].size());
    if (count < policy_.windows)
        return false;
    // The other two parts take as long as this one each. No window is added beyond half of the time there is.
    const bool is_long = 2 * 3 * (system_.now() - began_) > longest_trial;
    return is_long || count >= most_times_windows * policy_.windows ||
           gain(rates_[0], rates_[0], {}).high <= attempt_.estimated;
}

/// Whether even the upper end of the interval is a loss.
bool Trial::hopeless() const {
    return gain(rates_[0], rates_[1], {}).high < 0;
}

void Trial::take(const Sample &sample) {
    const bool is_late = sample.at - std::exchange(seen_, sample.at) > late * window_ + policy_.period;
    if (suspended_)
        return take_suspended(sample);
    if (is_late)
        return drop(sample);
    if (rates_[0].empty() && !attempt_.rate_of && !by_calls_) {
        const auto best = measure_of(sample, attempt_.group, attempt_.silent);
        if (std::exchange(what_, best) != best)
            last_.reset();
    }
    if (!what_)
        return abandon("progress cannot be measured: a rank has no page any more");
    const std::ptrdiff_t members =
        std::count_if(sample.ranks.begin(), sample.ranks.end(),
                      [&](const RankSample &rank) { return rank.group == attempt_.group; });
    if (members != members_.value_or(members))
        return abandon("ranks came, went or ended");
    members_ = members;
    if (!last_) {
        // The first window of a part begins behind an iteration that has nothing of what was before it.
        if (what_ == RateOf::iterations && last_ends(sample, attempt_.group, attempt_.silent) < since_)
            return wait_on(sample);
        last_ = sample;
        held_.reset();
        return;
    }
    const Advance advance = advance_between(*last_, sample, attempt_.group, *what_, attempt_.silent);
    switch (advance.what) {
    case Advance::told:
        return take_rate(sample, advance);
    case Advance::waits:
        return wait_on(sample);
    case Advance::anew:
        return drop(sample);
    case Advance::others:
        return abandon("ranks came, went or ended");
    }
}

void Trial::take_rate(const Sample &sample, const Advance &advance) {
    if (starved_) {
        end(Outcome::undone, Event::undone, "nothing gets on with it, and all do without it");
        return;
    }
    if (what_ == RateOf::iterations)
        window_ = std::clamp(iterations_in_window / advance.rate, policy_.window, longest_window);
    else if (advance.least < calls_in_window && sample.at - last_->at < longest_window)
        return wait_on(sample);
    rates().push_back(advance.rate);
    outside_[static_cast<std::size_t>(part_)].push_back(outside_mpi(*last_, sample, attempt_.group));
    last_ = sample;
    held_.reset();
}

/// Nothing can be told yet: an iteration may be long, or ranks suspended, which light samples do not say.
void Trial::wait_on(const Sample &sample) {
    if (!held_)
        held_ = sample;
    const Seconds waits = sample.at - (last_ ? last_->at : since_);
    if (waits < window_)
        return;
    const Sample full = system_.sample(false);
    const auto is_stopped = [&](const RankSample &rank) {
        return rank.group == attempt_.group && rank.stopped;
    };
    if (std::any_of(full.ranks.begin(), full.ranks.end(), is_stopped)) {
        // The window before may have the begin of it.
        if (!rates().empty()) {
            rates().pop_back();
            outside_[static_cast<std::size_t>(part_)].pop_back();
        }
        suspended_ = true;
        return anew(full);
    }
    window_ = std::min(window_ * 1.5, longest_window);
    const double rate_without = attempt_.expected ? *attempt_.expected : mean(rates_[0]);
    const bool none_is_silent = silent_between(*held_, sample, attempt_.group, attempt_.silent).empty();
    const bool none_gets_on = what_ == RateOf::iterations && none_is_silent &&
                              waits > std::max(least_wait, far_too_long / rate_without);
    if (none_gets_on && part_ == Part::with) {
        // Whether that is its doing is seen without it.
        starved_ = undo("nothing gets on with it");
        if (starved_)
            begin(Part::after);
        return;
    }
    if (none_gets_on && starved_) {
        end(Outcome::nothing_learned, Event::undone, "nothing gets on without it either");
        return;
    }
    if (waits < longest_iteration)
        return;
    // Whoever proposes next leaves them out.
    if (!none_is_silent)
        return abandon("a rank makes no MPI calls any more, and the others do");
    if (what_ == RateOf::iterations && rates_[0].empty() && !attempt_.rate_of) {
        what_ = RateOf::calls;
        by_calls_ = true;
    }
    drop(sample);
}

void Trial::take_suspended(const Sample &sample) {
    suspended_ = std::any_of(sample.ranks.begin(), sample.ranks.end(), [&](const RankSample &rank) {
        return rank.group == attempt_.group && rank.stopped;
    });
    anew(sample);
}

/// Windows begin behind this sample.
void Trial::anew(const Sample &sample) {
    last_.reset();
    held_.reset();
    since_ = sample.at;
}

void Trial::drop(const Sample &sample) {
    ++dropped_;
    anew(sample);
}

/// Why nothing may stay changed now, or who else moves what the change moves, in a sentence; empty if it may.
std::string Trial::others() {
    const Sample sample = system_.sample_with_movers();
    if (!sample.no_journal.empty())
        return sample.no_journal;
    // The windows before may have taken minutes.
    if (part_ == Part::before && !attempt_.change.moves.empty())
        if (std::string changed = attempt_.masks.changed_in(sample); !changed.empty())
            return changed;
    const std::string who = other_movers(sample, attempt_.group, attempt_.change);
    return who.empty() ? who : who + " has begun to move processes or pages";
}

Seconds Trial::next_part() {
    switch (part_) {
    case Part::before: {
        const double noise = scatter(rates_[0]) * std::sqrt(2.0 / static_cast<double>(rates_[0].size()));
        if (attempt_.estimated < noise)
            return end(Outcome::too_noisy, Event::refused,
                       "what it may gain is less than the job's rate varies from window to window");
        if (3 * (system_.now() - began_) > longest_trial)
            return end(Outcome::too_noisy, Event::refused, "its iterations are too long to be measured");
        // Light samples, as those of windows are, do not say who else is here.
        if (const std::string who = others(); !who.empty())
            return end(Outcome::nothing_learned, Event::refused, who);
        return apply("to be measured") ? begin(Part::with) : due_;
    }
    case Part::with:
        if (attempt_.expected)
            return confirm();
        return undo("to measure without it again") ? begin(Part::after) : due_;
    case Part::after:
        break;
    }
    return judge();
}

Seconds Trial::confirm() {
    // What is done faster or slower than then, with any mapping, says nothing of this one.
    const bool as_then = rate() >= as_fast_as_then * *attempt_.expected;
    const bool faster = attempt_.without && rate() > *attempt_.without;
    if (attempt_.without ? faster : as_then) {
        if (const std::string who = others(); !who.empty())
            return undo(who.c_str()) ? end(Outcome::nothing_learned, Event::undone, who) : due_;
        return end(Outcome::kept, Event::kept,
                   as_then ? "as fast as when it was measured" : "faster than without it");
    }
    const char *const why = as_then ? "slower than without it" : "not as fast as when it was measured";
    if (!undo(why))
        return due_;
    // The window without it may have had the end of a faster phase in it.
    return end(as_then ? Outcome::nothing_learned : Outcome::undone, Event::undone, why);
}

/// Whether a rank computes for another part of its time at the end than at the beginning.
bool Trial::is_other_phase() const {
    // Those that the kernel let change places compute for longer where they get less of a unit.
    if (std::ranges::any_of(attempt_.change.moves,
                            [](const RankMove &move) { return move.to.count() < move.from.count(); }))
        return false;
    for (std::size_t rank = 0; rank < outside_[0].front().size(); ++rank) {
        const std::vector<double> first = column(outside_[0], rank), last = column(outside_[2], rank);
        const double differs = std::abs(mean(first) - mean(last));
        if (differs > another_phase &&
            differs > beyond_noise * std::sqrt(squared_error(first) + squared_error(last)))
            return true;
    }
    return false;
}

void Trial::log_measured() {
    Event measured;
    measured.what = Event::measured;
    measured.group = attempt_.group;
    measured.ranks = attempt_.ranks;
    measured.estimated_gain = attempt_.estimated;
    measured.measured_gain = gain_->value;
    measured.gain_low = gain_->low;
    measured.gain_high = gain_->high;
    measured.rate = rate();
    measured.rate_of = name_of(*what_);
    log_(measured);
}

Seconds Trial::judge() {
    if (is_other_phase())
        return end(Outcome::nothing_learned, Event::undone,
                   "the ranks do something else than when it began: nothing follows from these windows");
    gain_ = gain(rates_[0], rates_[1], rates_[2]);
    log_measured();
    // Whoever tries often enough is lucky once: all attempts together keep what gains nothing with a
    // probability of less than 0.025 (1 + 1/4 + 1/9 + ...).
    const double tries = 1 + attempt_.undone;
    if (gain_->low > 0 && gain(rates_[0], rates_[1], rates_[2], 0.025 / (tries * tries)).low <= 0)
        return end(Outcome::undone, Event::undone,
                   "its gain may be chance, after " + std::to_string(attempt_.undone) + " that were undone");
    if (gain_->low <= 0)
        return end(Outcome::undone, Event::undone, "its gain is not above zero at 95 %");
    // Who came in the last windows was not looked for.
    if (const std::string who = others(); !who.empty())
        return end(Outcome::nothing_learned, Event::undone, who);
    if (!apply("it gains"))
        return due_;
    return end(Outcome::kept, Event::kept, "its gain is above zero at 95 %");
}

void Trial::abandon(const std::string &why) {
    if (outcome_ != Outcome::under_way || (applied_ && !undo(why.c_str())))
        return;
    end(Outcome::nothing_learned, changes_ > 0 ? Event::undone : Event::refused, why);
}

Seconds Trial::end(Outcome outcome, Event::What what, const std::string &why) {
    outcome_ = outcome;
    Event event;
    event.what = what;
    event.group = attempt_.group;
    event.why = why;
    event.change = attempt_.change;
    event.ranks = attempt_.ranks;
    event.estimated_gain = attempt_.estimated;
    if (gain_) {
        event.measured_gain = gain_->value;
        event.gain_low = gain_->low;
        event.gain_high = gain_->high;
    }
    if (what_ && !rates_[1].empty()) {
        event.rate = rate();
        event.rate_of = name_of(*what_);
    }
    log_(event);
    return due_ = system_.now();
}

} // namespace rankwise::tune
