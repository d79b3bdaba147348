// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <string>

#include "act/claim.hpp"

namespace rankwise::tune {

/// @brief A process that outlives the tuner if this is killed, and gives the ranks their masks back.
///
/// It is forked before anything is changed, sleeps until the tuner's end of a socket closes, restores from
/// the journal and ends. A tuner that ends well has removed the journal, and there is nothing to restore. It
/// holds what the tuner has claimed, so that nobody else claims it before it is restored.
class Guard {
  public:
    /// @param[in] lock of the state directory, which the guard holds on to
    Guard(std::string state, std::string proc, std::string sys, int lock);

    /// @brief Fork one if there is none, at first and when it was killed, and wait until it is ready.
    /// @return false if there is none and none can be made: nothing must be changed
    bool watch();

    std::int32_t process() const { return process_; }

    /// @brief Claim a process before it is changed for the first time.
    /// @return empty, or why it may not be changed
    std::string claim(const TaskId &process);

    /// @brief Claim the node's interrupts.
    /// @return empty, or why they may not be moved
    std::string claim_interrupts();

    /// @brief Give back what was claimed of these processes.
    void release(const std::function<bool(const TaskId &)> &which);

  private:
    [[noreturn]] void guard(int socket);
    std::string claim(const TaskId &name, const std::string &directory);
    bool tell(const TaskId &name, const Descriptor *claimed) const;

    std::string state_, proc_, sys_;
    int lock_;
    std::int32_t process_ = -1;
    Descriptor alive_;                    ///< closes when the tuner ends, however it does
    std::map<TaskId, Descriptor> claims_; ///< the node's interrupts' is {}
};

} // namespace rankwise::tune
