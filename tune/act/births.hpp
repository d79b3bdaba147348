// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace rankwise::tune {

/// @brief Threads of one process that were given a mask while they may have been beginning another thread.
/// That one gets the mask of before, and is listed only when it is whole (Linux, copy_process() in
/// kernel/fork.c): where its parent is kept from its core in between, that is milliseconds later.
class Births {
  public:
    /// @param[in] task   open directory /proc/N/task
    /// @param[in] thread has its mask by now
    void watch(int task, std::int32_t thread);

    /// @return whether all that they were beginning is listed: since then each was seen asleep, has ended, or
    /// was on a core for longer than it takes to begin a thread
    bool are_listed(int task);

  private:
    struct Parent {
        std::int32_t thread = 0;
        std::uint64_t ran = 0; ///< when its mask was set, in nanoseconds
    };
    std::vector<Parent> parents_;
};

} // namespace rankwise::tune
