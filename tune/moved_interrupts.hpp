// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "event_log.hpp"
#include "judge/trial.hpp"
#include "system.hpp"

namespace rankwise::tune {

/// @brief Interrupts that were moved for a group, and such that could not be.
class MovedInterrupts {
  public:
    /// @brief What a trial showed.
    /// @param[in] pause until one that could not be moved is tried again
    void learn(const Trial &trial, Seconds now, Seconds pause);

    /// @return those that are not to be moved now
    std::set<std::int32_t> fixed(Seconds now);

    /// @brief Say in a change where those are that were moved before: a sample may not tell.
    void correct(Change &change) const;

    /// @brief Put back those whose group is gone.
    /// @param[in] why   they are put back
    /// @param[in] pause until one that could not be put back is tried again
    void give_back(System &system, const EventLog &log,
                   const std::function<bool(const std::string &)> &is_there, const std::string &why,
                   Seconds pause);

  private:
    struct Line {
        PuSet at;
        std::string group; ///< that it was moved for
    };
    std::map<std::int32_t, Line> lines_;
    std::map<std::int32_t, Seconds> fixed_; ///< that could not be moved, or put back, and until when
};

} // namespace rankwise::tune
