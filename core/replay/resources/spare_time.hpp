// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief How long a shared core has had nothing to do for the ranks that compute on it or move messages.
///
/// A rank that waits deals with the bytes of its message while they come in. On a core of its own that takes
/// no time of anybody. On a shared one it is done in time that the core has to spare, and that is given out
/// once, to one message after the other; what is left of it is work that begins when the message is there.
class SpareTime {
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
