// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "given_back.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief The node as a tuner sees and changes it: Linux (observe/, act/), or a simulated one in tests.
class System {
  public:
    virtual ~System() = default;

    virtual Seconds now() const = 0;

    /// @param[in] light pages only, for windows of a measurement: takes microseconds
    virtual Sample sample(bool light) = 0;

    /// @brief Look where those threads are that may run on several units: full samples say what they ran on
    /// each. However often it is called, this takes at most a part of the time.
    /// @return before which moment another look would see nothing
    virtual Seconds look_at_units() = 0;

    /// @brief A full sample that looks for other movers now: what others say of them may be some seconds old.
    virtual Sample sample_with_movers() = 0;

    /// @return where the pages of a rank are, as seen just now: samples have what was seen before
    virtual NumaPages pages_by_numa(const TaskId &process) = 0;

    /// @brief Carry a change out, whole or not at all: if a thread cannot be moved, those before it are moved
    /// back. Every original mask is in the journal before the first thread is touched.
    /// @return empty, or why it was not done ("rank 3 ended", "its mask was changed by another process", ...)
    virtual std::string apply(const Change &change) = 0;

    /// @brief Whether a change that was not done has left threads that could not be moved back: `undo` takes
    /// them back once that is possible, and until then nothing else is to be changed.
    virtual bool is_stuck() const = 0;

    /// @brief Do the next piece of what a change still has to do: pages follow in batches of 20 ms.
    /// @return the moment of the next piece; none if nothing is left
    virtual std::optional<Seconds> go_on() = 0;

    /// @return units that the kernel lets a process run on now, those that are offline left out
    virtual PuSet usable(const TaskId &process) = 0;

    /// @brief Take back what was applied last, or is stuck: each thread gets the mask that it had before this
    /// change, one that was born since that of its process' threads, an interrupt its units. A thread that
    /// has ended, or whose mask somebody else has changed since, keeps nothing from the others.
    /// @return empty, or what could not be given back: to be called again
    virtual std::string undo() = 0;

    /// @brief Give all threads of these processes what they had before the first change, unless somebody else
    /// has changed it since.
    /// @return empty, or what could not be given back: to be called again
    virtual std::string give_back(const std::vector<TaskId> &processes) = 0;

    /// @brief Give all threads what they had before the first change, unless somebody else has changed it
    /// since. Pages on their way back, and those that went with a rank, follow, as many as can in some
    /// seconds.
    virtual GivenBack restore() = 0;
};

} // namespace rankwise::tune
