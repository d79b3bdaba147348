// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Who uses a shared core: `ranks` have not finished, and `jobs` of them have something to do.
struct CoreUsers {
    std::uint32_t ranks = 0, jobs = 0;

    /// @return among how many the core is divided
    std::uint32_t sharing(bool spin) const { return spin ? ranks : jobs; }
};

/// @param[in] cores what they have together
/// @param[in] spin  ranks that wait use the core like those that have jobs
/// @return how fast the ranks that wait could work together beside those that have jobs without slowing them
/// down
inline double idle_rate(double cores, const CoreUsers &users, bool spin) {
    if (users.jobs >= cores || users.ranks == users.jobs)
        return 0;
    const CoreUsers with_one_more{users.ranks, users.jobs + 1};
    const double at_once = std::min<double>(users.ranks - users.jobs, cores - users.jobs);
    return at_once * std::min(1.0, cores / with_one_more.sharing(spin));
}

/// @brief How long a shared core has had nothing to do for the ranks that compute on it or move messages.
///
/// A rank that waits deals with the bytes of its message while they come in. On a core of its own that takes
/// no time of anybody. On a shared one it is done in time that the core has left, and that is given out once,
/// to one message after the other; what is left of the message is work that begins when it is there.
class IdleCapacity {
  public:
    /// @return all of it up to now, in picoseconds
    double until(Picoseconds now) {
        sum_ += static_cast<double>(now - last_) * rate_;
        last_ = now;
        return sum_;
    }

    /// @param[in] rate how fast ranks without jobs could work from now on
    void set_rate(Picoseconds now, double rate) {
        until(now);
        rate_ = rate;
    }

    /// @param[in] since what `until` gave when the bytes began to come
    /// @param[in] work  to be done
    /// @return what of it was done by now
    Picoseconds take(Picoseconds now, double since, Picoseconds work) {
        if (work == 0)
            return 0;
        const double from = std::max(since, taken_);
        const double done = std::clamp(until(now) - from, 0.0, static_cast<double>(work));
        taken_ = from + done;
        return std::llround(done);
    }

  private:
    double sum_ = 0, taken_ = 0, rate_ = 0; ///< `taken_`: up to where it is given out
    Picoseconds last_ = 0;
};

} // namespace rankwise::replay
