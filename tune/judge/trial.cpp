// SPDX-License-Identifier: BSD-3-Clause
#include "judge/trial.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankwise::tune {

namespace {

constexpr double iterations_in_window = 4;
constexpr Seconds longest_window = 3;
constexpr int windows_to_confirm = 3;
// A window that took so much longer than it should is none: the clock jumped, or the machine stood still.
constexpr double late = 3;
// Parts of ranks' computation by which windows are of another phase of the program.
constexpr double another_phase = 0.15;
// Of the rate that a mapping had when it was kept.
constexpr double as_fast_as_then = 0.95;

double mean(const std::vector<double> &values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

} // namespace

Change inverse(const Change &change) {
    Change back;
    for (const RankMove &move : change.moves)
        back.moves.push_back({move.process, move.to, move.from});
    for (const Change::Interrupt &interrupt : change.interrupts)
        back.interrupts.push_back({interrupt.number, {}});
    for (const Change::Pages &pages : change.pages)
        back.pages.push_back({pages.process, pages.to_numa, pages.from_numa});
    return back;
}

std::string other_movers(const Sample &sample, const Policy &policy) {
    std::string who;
    for (const std::string &mover : sample.movers)
        // It moves interrupts only.
        if (mover != "irqbalance" || policy.move_interrupts)
            who += (who.empty() ? "" : ", ") + mover;
    return who;
}

Trial::Trial(Attempt attempt, const Policy &policy, System &system, std::function<void(Event)> log)
    : attempt_(std::move(attempt)), policy_(policy), system_(system), log_(std::move(log)),
      what_(attempt_.rate_of), window_(policy.window) {
    if (attempt_.expected) {
        if (apply(attempt_.change, "known to suit what the ranks do now"))
            due_ = begin(Part::with, system_.now() + policy_.settle);
    } else
        due_ = begin(Part::before, system_.now());
}

double Trial::rate() const {
    return mean(rates_[static_cast<int>(Part::with)]);
}

Seconds Trial::begin(Part part, Seconds from) {
    part_ = part;
    last_.reset();
    return from;
}

bool Trial::apply(const Change &change, const char *what) {
    const std::string failed = system_.apply(change);
    if (!failed.empty()) {
        end(Outcome::failed, Event::failed, failed);
        return false;
    }
    applied_ = !applied_;
    tried_ = true;
    Event event;
    event.what = Event::applied;
    event.group = attempt_.group;
    event.change = change;
    event.ranks = attempt_.ranks;
    event.why = what;
    log_(event);
    return true;
}

Seconds Trial::step() {
    if (outcome_ != Outcome::under_way || system_.now() < due_)
        return due_;
    if (const std::optional<Seconds> next = system_.go_on()) {
        moving_ = true;
        return due_ = *next;
    }
    if (std::exchange(moving_, false))
        return due_ = begin(part_, system_.now() + policy_.settle);
    take(system_.sample(true));
    if (outcome_ != Outcome::under_way)
        return due_;
    const std::vector<double> &rates = rates_[static_cast<int>(part_)];
    const auto count = static_cast<int>(rates.size());
    if (part_ == Part::with && attempt_.expected ? count >= windows_to_confirm : count >= policy_.windows)
        return due_ = next_part();
    if (part_ == Part::with && count >= windows_to_confirm && !attempt_.expected && hopeless()) {
        gain_ = gain(rates_[0], rates_[1], {});
        if (apply(inverse(attempt_.change), "slower with it"))
            return end(Outcome::undone, Event::undone, "the job is slower with it");
        return due_;
    }
    if (dropped_ > 2 * policy_.windows) {
        abandon("progress cannot be measured: ranks came, went, stood still or ended no iteration");
        return due_;
    }
    return due_ = system_.now() + window_;
}

/// Whether even the upper end of the interval is a loss.
bool Trial::hopeless() const {
    return gain(rates_[0], rates_[1], {}).high < 0;
}

bool Trial::choose_measure(const Sample &sample) {
    if (what_)
        return true;
    what_ = measure_for(*last_, sample, attempt_.group);
    if (what_ != RateOf::iterations)
        return what_.has_value();
    // The measure is kept, so windows must be long enough for some iterations.
    const double rate = *rate_between(*last_, sample, attempt_.group, *what_);
    window_ = std::clamp(iterations_in_window / rate, policy_.window, longest_window);
    return true;
}

void Trial::take(const Sample &sample) {
    if (last_ && sample.at - last_->at < late * window_ + policy_.period) {
        std::optional<double> rate;
        if (choose_measure(sample))
            rate = rate_between(*last_, sample, attempt_.group, *what_);
        if (rate) {
            auto &rates = rates_[static_cast<int>(part_)];
            auto &outside = outside_[static_cast<int>(part_)];
            const std::vector<double> shares = outside_mpi(*last_, sample, attempt_.group);
            outside.resize(shares.size());
            for (std::size_t rank = 0; rank < shares.size(); ++rank)
                outside[rank] += (shares[rank] - outside[rank]) / static_cast<double>(rates.size() + 1);
            rates.push_back(*rate);
        } else {
            ++dropped_;
            // An iteration may be longer than the window.
            window_ = std::min(window_ * 1.5, longest_window);
        }
    }
    last_ = sample;
}

Seconds Trial::next_part() {
    const Seconds now = system_.now();
    switch (part_) {
    case Part::before: {
        const double noise = scatter(rates_[0]) * std::sqrt(2.0 / static_cast<double>(rates_[0].size()));
        if (attempt_.estimated < noise)
            return end(Outcome::nothing_learned, Event::refused,
                       "what it may gain is less than the job's rate varies from window to window");
        // Light samples, as those of windows are, do not say who else is here.
        if (const std::string who = other_movers(system_.sample(false), policy_); !who.empty())
            return end(Outcome::nothing_learned, Event::refused,
                       who + " has begun to move processes or pages");
        if (!apply(attempt_.change, "to be measured"))
            return due_;
        return begin(Part::with, now + policy_.settle);
    }
    case Part::with:
        if (attempt_.expected)
            return judge();
        if (!apply(inverse(attempt_.change), "to measure without it again"))
            return due_;
        return begin(Part::after, now + policy_.settle);
    case Part::after:
        break;
    }
    return judge();
}

Seconds Trial::judge() {
    if (attempt_.expected) {
        if (rate() >= as_fast_as_then * *attempt_.expected)
            return end(Outcome::kept, Event::kept, "as fast as when it was measured");
        if (!apply(inverse(attempt_.change), "not as fast as when it was measured"))
            return due_;
        return end(Outcome::undone, Event::undone, "not as fast as when it was measured");
    }
    double differs = 0;
    for (std::size_t rank = 0; rank < outside_[0].size() && rank < outside_[2].size(); ++rank)
        differs += std::abs(outside_[0][rank] - outside_[2][rank]) / static_cast<double>(outside_[0].size());
    if (differs > another_phase)
        return end(Outcome::nothing_learned, Event::undone,
                   "the ranks do something else than when it began: nothing follows from these windows");
    gain_ = gain(rates_[0], rates_[1], rates_[2]);
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
    // Whoever tries often enough is lucky once: all attempts together keep what gains nothing with a
    // probability of less than 0.025 (1 + 1/4 + 1/9 + ...).
    const double tries = 1 + attempt_.undone;
    if (gain_->low > 0 && gain(rates_[0], rates_[1], rates_[2], 0.025 / (tries * tries)).low <= 0)
        return end(Outcome::undone, Event::undone,
                   "its gain may be chance, after " + std::to_string(attempt_.undone) + " that were undone");
    if (gain_->low <= 0)
        return end(Outcome::undone, Event::undone, "its gain is not above zero at 95 %");
    if (!apply(attempt_.change, "it gains"))
        return due_;
    return end(Outcome::kept, Event::kept, "its gain is above zero at 95 %");
}

void Trial::abandon(const std::string &why) {
    if (outcome_ != Outcome::under_way)
        return;
    if (applied_ && !apply(inverse(attempt_.change), why.c_str()))
        return;
    end(Outcome::nothing_learned, tried_ ? Event::undone : Event::refused, why);
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
