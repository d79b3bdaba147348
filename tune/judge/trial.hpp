// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "judge/gain.hpp"
#include "judge/progress_rate.hpp"
#include "judge/seen_masks.hpp"
#include "system.hpp"
#include "tuner.hpp"

namespace rankwise::tune {

/// @brief What is tried.
struct Attempt {
    std::string group;
    Change change;
    double estimated = 0; ///< gain
    std::vector<std::int32_t> ranks;
    std::optional<double>
        expected; ///< the rate that it had when it was kept before: then it is only confirmed
    std::optional<RateOf> rate_of; ///< of `expected`
    int undone = 0;                ///< attempts since the last that was kept
    std::optional<double> without; ///< the rate that was seen last, of an attempt with `expected`
    Silent silent{};               ///< ranks that progress is not told by
    SeenMasks masks{};             ///< that it was decided on
};

/// @brief Windows without a change, with it, and without it again: does the job get on faster with it?
class Trial {
  public:
    enum class Outcome {
        under_way,
        kept,
        undone,
        too_noisy,       ///< what it may gain cannot be told from the job's own variation
        nothing_learned, ///< something came between
        failed           ///< the system did not carry it out, or not back
    };

    /// Of an attempt that is kept: carried out, taken back, and carried out again.
    static constexpr double most_changes = 3;

    /// @return the longest iteration that can be measured: each part is so many windows of at least one, and
    /// begins behind the end of another
    static Seconds longest_measured(const Policy &policy);

    Trial(Attempt attempt, const Policy &policy, System &system, std::function<void(Event)> log);

    /// @brief Do what is due. @return the moment of the next call
    Seconds step();

    Outcome outcome() const { return outcome_; }
    /// @brief The rate with the change, of what is kept.
    double rate() const;
    std::optional<RateOf> rate_of() const { return what_; }
    const Attempt &attempt() const { return attempt_; }
    /// @brief How often it was carried out and taken back.
    int changes() const { return changes_; }
    /// @brief Whether it ended with a change that could not be taken back everywhere: System::undo is to be
    /// called again.
    bool is_left() const { return left_; }

    /// @brief End it at once, without the change.
    void abandon(const std::string &why);

  private:
    enum class Part { before, with, after };

    Seconds begin(Part part);
    bool apply(const char *why);
    bool undo(const char *why);
    void log_applied(const Change &change, const char *why);
    void take(const Sample &sample);
    void take_suspended(const Sample &sample);
    void take_rate(const Sample &sample, const Advance &advance);
    void wait_on(const Sample &sample);
    void anew(const Sample &sample);
    void drop(const Sample &sample);
    bool is_other_phase() const;
    bool are_enough(int count) const;
    std::string others();
    Seconds next_part();
    Seconds judge();
    Seconds confirm();
    void log_measured();
    Seconds end(Outcome outcome, Event::What what, const std::string &why);
    bool hopeless() const;
    std::vector<double> &rates() { return rates_[static_cast<std::size_t>(part_)]; }

    Attempt attempt_;
    const Policy &policy_;
    System &system_;
    std::function<void(Event)> log_;
    Outcome outcome_ = Outcome::under_way;
    Part part_ = Part::before;
    std::array<std::vector<double>, 3> rates_;
    std::array<std::vector<std::vector<double>>, 3> outside_; ///< by window and rank
    std::optional<RateOf> what_;
    std::optional<Sample> last_; ///< at which the window under way began
    std::optional<Sample> held_; ///< since which it cannot be ended
    std::optional<Gain> gain_;
    Seconds began_, since_, seen_, window_, due_ = 0; ///< `since_`: no window begins before it
    int dropped_ = 0, changes_ = 0;
    std::optional<std::ptrdiff_t> members_; ///< ranks of the group
    bool applied_ = false, suspended_ = false, left_ = false;
    bool moving_ = false; ///< pages were on their way at the last step
    Seconds moves_since_ = 0;
    bool starved_ = false;  ///< nothing got on with it: whether it does without it is being seen
    bool by_calls_ = false; ///< though there are iterations: they do not end
};

/// @return those that move what a change of a group would: while they do, it is not made. Of an empty change,
/// those beside which nothing is changed at all. Empty if there are none
std::string other_movers(const Sample &sample, const std::string &group, const Change &change);

} // namespace rankwise::tune
