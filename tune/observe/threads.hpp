// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "proc/descriptor.hpp"
#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Threads of one process: task/TID/stat and schedstat, kept open, and their masks.
class ThreadReader {
  public:
    /// @param[in] proc    root of the tree; of another than `/proc`, masks are read from task/TID/status
    /// @param[in] process its number
    ThreadReader(const std::string &proc, std::int32_t process);

    /// @brief Read all of them, the main thread first.
    /// @return false if the process has ended
    bool read(Text &text, std::vector<ThreadSample> &threads);

  private:
    struct Thread {
        std::int32_t number;
        KeptFile stat, schedstat;
    };
    bool list();
    bool read_one(Thread &thread, Text &text, ThreadSample &sample);

    std::string directory_;
    std::int32_t process_;
    bool made_up_;
    Descriptor task_;
    std::vector<Thread> threads_;
    std::vector<std::int32_t> numbers_;
    std::uint32_t said_threads_ = 0;
    double clock_tick_s_;
};

} // namespace rankwise::tune
