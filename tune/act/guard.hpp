// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <string>

#include "act/claim.hpp"
#include "act/state_lock.hpp"

namespace rankwise::tune {

/// @brief A process that outlives the tuner if this is killed, and gives the ranks their masks back.
///
/// It is forked before anything is changed, sleeps until the tuner's end of a socket closes, restores from
/// the journal and ends. A tuner that ends well has removed the journal, and there is nothing to restore. It
/// holds what the tuner has claimed, so that nobody else claims it before it is restored; and the journal,
/// which somebody may remove with its directory.
class Guard {
  public:
    /// @param[in] directory whose lock the guard holds on to; must outlive this
    Guard(StateDirectory &directory, std::string proc, std::string sys);

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

    /// @brief Have it restore from this file where there is no STATE/journal any more.
    void keep_journal(const Descriptor &journal);

    /// @brief The directory was made again: have it hold the new lock.
    void keep_lock() const { tell(lock_name, &directory_.lock()); }

  private:
    // No processes have these.
    static constexpr TaskId journal_name{-1, 0}, lock_name{-2, 0};

    [[noreturn]] void guard(int socket);
    void follow(int socket);
    void give_back() const;
    std::string claim(const TaskId &name, const std::string &directory);
    bool tell(const TaskId &name, const Descriptor *claimed) const;

    StateDirectory &directory_;
    std::string proc_, sys_;
    std::int32_t process_ = -1;
    Descriptor alive_;                    ///< closes when the tuner ends, however it does
    Descriptor journal_;                  ///< of its own: the tuner may begin another
    std::map<TaskId, Descriptor> claims_; ///< the node's interrupts' is {}
};

} // namespace rankwise::tune
