// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

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
    /// @return all of it up to a time, in picoseconds
    double until(Picoseconds time) const {
        if (time >= now_.begin)
            return now_.until(time);
        const auto after = std::find_if(earlier_.rbegin(), earlier_.rend(),
                                        [time](const Period &each) { return each.begin <= time; });
        return after == earlier_.rend() ? 0 : after->until(time);
    }

    /// @param[in] rate how fast ranks without jobs could work from now on
    /// @param[in] asked_since `until` is not asked of earlier times any more
    void set_rate(Picoseconds now, double rate, Picoseconds asked_since) {
        if (rate == now_.rate)
            return;
        if (asked_since < now) {
            if (earlier_.size() >= room_)
                forget_before(asked_since);
            earlier_.push_back(now_);
        }
        now_ = {now, until(now), rate};
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
    /// From a time on the rate was the same.
    struct Period {
        Picoseconds begin = 0;
        double before = 0; ///< the sum at its beginning
        double rate = 0;

        double until(Picoseconds time) const { return before + static_cast<double>(time - begin) * rate; }
    };

    /// All but those that have ended before a time.
    void forget_before(Picoseconds time) {
        const auto last = std::find_if(earlier_.rbegin(), earlier_.rend(),
                                       [time](const Period &each) { return each.begin <= time; });
        if (last != earlier_.rend())
            earlier_.erase(earlier_.begin(), last.base() - 1);
        room_ = std::max(least_room, 2 * earlier_.size());
    }

    static constexpr std::size_t least_room = 32;

    double taken_ = 0; ///< up to where it is given out
    Period now_;
    std::vector<Period> earlier_;   ///< in the order of time, as far as they may be asked for
    std::size_t room_ = least_room; ///< of `earlier_` until it is looked through
};

} // namespace rankwise::replay
