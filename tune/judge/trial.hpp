// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/gain.hpp"
#include "judge/progress_rate.hpp"
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
};

/// @brief Windows without a change, with it, and without it again: does the job get on faster with it?
class Trial {
  public:
    enum class Outcome { under_way, kept, undone, nothing_learned, failed };

    Trial(Attempt attempt, const Policy &policy, System &system, std::function<void(Event)> log);

    /// @brief Do what is due. @return the moment of the next call
    Seconds step();

    Outcome outcome() const { return outcome_; }
    /// @brief The rate with the change, of what is kept.
    double rate() const;
    std::optional<RateOf> rate_of() const { return what_; }
    const Attempt &attempt() const { return attempt_; }

    /// @brief End it at once, without the change.
    void abandon(const std::string &why);

  private:
    enum class Part { before, with, after };

    Seconds begin(Part part, Seconds from);
    bool apply(const Change &change, const char *what);
    void take(const Sample &sample);
    bool choose_measure(const Sample &sample);
    Seconds next_part();
    Seconds judge();
    Seconds end(Outcome outcome, Event::What what, const std::string &why);
    bool hopeless() const;

    Attempt attempt_;
    const Policy &policy_;
    System &system_;
    std::function<void(Event)> log_;
    Outcome outcome_ = Outcome::under_way;
    Part part_ = Part::before;
    std::vector<double> rates_[3];
    std::vector<double> outside_[3]; ///< of the ranks, mean of the windows
    std::optional<RateOf> what_;
    std::optional<Sample> last_;
    std::optional<Gain> gain_;
    Seconds window_, due_ = 0;
    int dropped_ = 0;
    bool moving_ = false; ///< pages were on their way at the last step
    bool applied_ = false;
    bool tried_ = false; ///< it was applied at some time
};

/// @return those that move what this tuner would move: while they do, nothing is changed. Empty if there are
/// none
std::string other_movers(const Sample &sample, const Policy &policy);

/// @brief What takes a change back.
Change inverse(const Change &change);

} // namespace rankwise::tune
