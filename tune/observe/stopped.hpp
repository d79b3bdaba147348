// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "proc/text.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Whether a process is suspended: all its threads in state T, or its control group frozen.
class StoppedReader {
  public:
    StoppedReader(const std::string &proc, const std::string &sys, std::int32_t process);

    /// @param[in] threads as they are now
    bool read(Text &text, const std::vector<ThreadSample> &threads);

  private:
    std::vector<KeptFile> freezers_; ///< cgroup.events (version 2), freezer.state (version 1)
    Seconds run_ = -1;
};

} // namespace rankwise::tune
