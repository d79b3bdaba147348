// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
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
    /// @param[in] most how many there may be
    /// @return false if the process has ended, or has more
    bool read(Text &text, std::vector<ThreadSample> &threads, std::size_t most);

    /// @brief Look where threads are that may run on several units: `ThreadSample::run_on` of the next
    /// readings, until there are some with no look between them.
    void look_at_units(Text &text);

    /// @return whether it had more when it was read last
    bool has_too_many() const { return has_too_many_; }

  private:
    /// What schedstat says: one of them grows whenever a thread is given a core.
    struct Turns {
        std::uint64_t run_ns, queued_ns, count;
        bool operator==(const Turns &) const = default;
    };
    struct Thread {
        std::int32_t number;
        KeptFile stat, schedstat;
        std::optional<Turns> turns; ///< read before `seen` was
        ThreadSample seen;
    };
    bool list();
    bool read_stat(Thread &thread, Text &text);
    bool read_times(Thread &thread, Text &text);
    bool read_one(Thread &thread, Text &text, ThreadSample &sample);

    std::string directory_;
    std::int32_t process_;
    bool made_up_, has_too_many_ = false;
    Descriptor task_;
    std::vector<Thread> threads_;
    std::vector<std::int32_t> numbers_;
    std::uint32_t said_threads_ = 0;
    std::int64_t unlooked_ = INT32_MAX; ///< readings since the last look at units
    double clock_tick_s_;
};

} // namespace rankwise::tune
