// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief Events as lines of JSON, one behind another in a file.
class EventFile {
  public:
    /// @param[in] path empty: events are not kept
    /// @throws Error if it cannot be written
    explicit EventFile(const std::string &path);

    /// @brief Add a line with one write, so that who reads it meanwhile sees whole lines.
    /// @return the line without its end
    std::string add(const Event &event);

    /// @brief Open the path again: whoever rotates files has renamed this one.
    /// @return empty, or why the file before goes on being written
    std::string open_again();

  private:
    std::string path_;
    Descriptor file_;
};

} // namespace rankwise::tune
