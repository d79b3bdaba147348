// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "act/actor.hpp"
#include "act/cpuset.hpp"
#include "act/guard.hpp"
#include "act/journal.hpp"
#include "observe/observer.hpp"
#include "plan/plan.hpp"
#include "system.hpp"

namespace rankwise::tune {

/// @brief This node: sees with `observe/`, changes with `act/`.
///
/// One a state directory. What a tuner before it left behind is restored first.
class LinuxSystem : public System {
  public:
    /// @throws Error if another tuner has the state directory, or nothing can be written there
    explicit LinuxSystem(const Plan &plan);

    Seconds now() const override;
    Sample sample(bool light) override;
    Seconds look_at_units() override;
    Sample sample_with_movers() override;
    NumaPages pages_by_numa(const TaskId &process) override { return observer_.pages_by_numa(process); }
    std::string apply(const Change &change) override;
    bool is_stuck() const override { return actor_.is_stuck(); }
    std::optional<Seconds> go_on() override;
    PuSet usable(const TaskId &process) override { return cpuset_of(proc_, sys_, process.number); }
    std::string undo() override { return actor_.undo(); }
    std::string give_back(const std::vector<TaskId> &processes) override {
        return actor_.give_back(processes);
    }
    GivenBack restore() override;

    /// @brief What was changed stays: nothing is left to restore, by anybody.
    void keep();

    /// @brief Fork a guard if there is none: it may have been killed. Who may change something comes before
    /// ranks.
    bool watch_guard();

    /// @return its number
    std::int32_t guard() const { return guard_.process(); }

    /// @return what a user should know, each once: what cannot be seen, what an earlier tuner had left
    std::vector<std::string> notes();

    /// @return as the last full sample found them
    const Limits &limits() const { return observer_.limits(); }

    /// @return ranks of the last full sample
    const std::vector<RankSample> &ranks() const { return ranks_; }

  private:
    void claim(const std::vector<std::int32_t> &pids);
    void take_pages_back();

    const std::string proc_, sys_;
    TaskId self_;
    StateDirectory directory_;
    Guard guard_; ///< forked before there is much memory to copy
    std::vector<std::string> notes_;
    Journal journal_;
    Actor actor_;
    Observer observer_;
    std::vector<RankSample> ranks_;
    bool changes_ = false; ///< since its first change
};

} // namespace rankwise::tune
