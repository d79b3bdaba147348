// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "proc/descriptor.hpp"

namespace rankwise::tune {

/// @brief A process that outlives the tuner if this is killed, and gives the ranks their masks back.
///
/// It is forked before anything is changed, sleeps until the tuner's end of a socket closes, restores from
/// the journal and ends. A tuner that ends well has removed the journal, and there is nothing to restore.
class Guard {
  public:
    /// @param[in] lock of the state directory, which the guard holds on to
    Guard(std::string state, std::string proc, std::string sys, int lock);

    /// @brief Fork one if there is none, at first and when it was killed, and wait until it is ready.
    /// @return false if there is none and none can be made: nothing must be changed
    bool watch();

    std::int32_t process() const { return process_; }

  private:
    [[noreturn]] void guard(int socket);

    std::string state_, proc_, sys_;
    int lock_;
    std::int32_t process_ = -1;
    Descriptor alive_; ///< closes when the tuner ends, however it does
};

} // namespace rankwise::tune
