// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fault.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// What an operation waits for that has begun and not ended: of a send its receive and the other way round,
/// as far as it is known, else `any`.
using OtherEnd = std::function<std::uint32_t(std::uint32_t)>;

/// @brief Sends that wait for their receives in circles. If they end as if their messages were buffered, the
/// replay goes on.
///
/// A program that polls may receive in another order when messages arrive in another one. Its recording has
/// only the order of the recorded run, which can block for ever where a send waits that did not wait then.
///
/// A replay can stop as often as it has messages. So a stop costs what has begun and not ended, and what that
/// waits for, but not the whole schedule; only the first one goes through all of it.
class Standstills {
  public:
    Standstills(const Schedule &schedule, const Progress &progress)
        : schedule_(schedule), progress_(progress) {}

    /// @brief Called whenever an operation has begun.
    void begun(std::uint32_t op) {
        if (room_ == 0) [[likely]] // there was no stop
            return;
        begun_.push_back(op);
        if (begun_.size() >= room_)
            forget_ended();
    }

    /// @brief Take over what another one, for other ranks of the same schedule, has noted.
    void take_begun(Standstills &other) {
        begun_.insert(begun_.end(), other.begun_.begin(), other.begun_.end());
        other.begun_.clear();
        other.room_ = least_room; // it notes from now on
    }

    /// @brief Nothing can go on.
    /// @return the sends of all circles, in the order of their numbers
    std::vector<std::uint32_t> waiting_sends(const OtherEnd &other_end);

    /// @brief Why a replay stopped before its end.
    /// @return an error that names a circle of operations and ranks, or an operation that nobody answers
    FaultError deadlock(const OtherEnd &other_end);

    /// @brief The schedule has changed; operations that it had before have other numbers.
    /// @param[in] now number of each as it was, `any` of those that are gone
    void renumber(std::span<const std::uint32_t> now);

  private:
    static constexpr std::size_t least_room = 1024;

    void forget_ended();
    void list_earlier();
    std::uint32_t blocker(std::uint32_t op, const OtherEnd &other_end) const;
    template <class Circle>
    std::uint32_t follow(std::uint32_t start, std::uint32_t pass, const OtherEnd &other_end,
                         const Circle &circle);

    const Schedule &schedule_;
    const Progress &progress_;
    std::vector<std::uint32_t> begun_; ///< from the first stop on: all that has not ended, and some that has
    std::size_t room_ = 0;             ///< of begun_ until it is looked through; 0 before the first stop
    std::vector<std::uint32_t> earlier_first_; ///< empty if it is not known for the schedule as it is now
    std::vector<Successor> earlier_;           ///< of each operation those that it waits for, by number
    std::vector<std::uint32_t> visit_; ///< of each operation: pass of this stop that came to it, 0 if none
    std::vector<std::uint32_t> visited_;
};

} // namespace rankwise::replay
