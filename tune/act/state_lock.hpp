// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "proc/descriptor.hpp"

namespace rankwise::tune {

/// @brief Make the state directory if it is not there, and lock STATE/lock: one tuner at a time. A forked
/// guard has the lock as well, and holds it until it has restored what is to be.
/// @throws Refused if another tuner has it, whose number is named
/// @throws Error if the guard of one that was killed keeps it too long, or the directory is another user's
Descriptor lock_state(const std::string &state);

/// @return whether a path leads to an open file still
bool is_still_at(int file, const std::string &path);

/// @brief A tuner's state directory, which no other tuner has while this has its lock.
class StateDirectory {
  public:
    /// @throws Error as `lock_state`
    explicit StateDirectory(std::string path) : path_(std::move(path)), lock_(lock_state(path_)) {}

    const std::string &path() const { return path_; }
    const Descriptor &lock() const { return lock_; }

    /// @return false if it was removed, as at the end of its user's session; another tuner may have one there
    bool is_there() const { return is_still_at(lock_.number(), path_ + "/lock"); }

    /// @brief Make it again, and lock it.
    /// @return false if that cannot be, or another tuner has it
    bool make_again();

    /// @brief Take the lock of the directory that the tuner has made again: in its guard.
    void take(Descriptor lock) { lock_ = std::move(lock); }

  private:
    std::string path_;
    Descriptor lock_;
};

} // namespace rankwise::tune
