// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "given_back.hpp"
#include "system.hpp"

namespace rankwise::tune {

/// @brief When to act. Shares are parts of an iteration's time.
struct Policy {
    bool act = false;             ///< false: say what would be done
    bool move_interrupts = false; ///< `--irq`
    double begin_above = 0.03;    ///< estimated gain that begins a change
    double end_below =
        0.01;              ///< and the one below which a group is left alone until it exceeds the first again
    Seconds settle = 0.05; ///< after a change, before it is measured
    Seconds window = 0.1;  ///< a sub-window of a measurement
    int windows = 8;       ///< sub-windows of A, of B and of the second A
    double moves_per_s = 0.2; ///< refill of the budget: exchanges of two ranks that are tried
    double most_moves = 4;    ///< that it can hold
    Seconds first_pause = 2;  ///< after a change that did not help; doubled each time
    Seconds longest_pause = 600;
    Seconds period = 1; ///< between full samples while nothing is done
    double rarest = 4;  ///< and up to so many of it while nothing changes
};

/// @brief Decides from samples and carries out through a System: A, B, A windows of the job's own progress,
/// keep or undo.
class Tuner {
  public:
    Tuner(const Node &node, const Policy &policy, System &system, std::function<void(const Event &)> log);
    ~Tuner();

    /// @brief Do what is due now.
    /// @return the moment at which to call it again
    Seconds step();

    /// @brief Finish: undo what is being tried, give back all masks if `restore`, or if that cannot be
    /// undone, or some ranks have theirs back and others do not.
    /// @return what became of them; none if they stay
    std::optional<GivenBack> stop(bool restore);

    /// @brief Say that this was all.
    void end();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace rankwise::tune
