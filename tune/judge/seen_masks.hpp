// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>

#include "types.hpp"

namespace rankwise::tune {

/// @brief Masks of the threads of a group as a decision knew them: it says nothing of ranks with others.
class SeenMasks {
  public:
    SeenMasks() = default;
    /// @param[in] sample a full one
    SeenMasks(const Sample &sample, const std::string &group);

    bool empty() const { return threads_.empty(); }

    /// @param[in] later a full sample
    /// @return empty, or whose mask is another one now, in a sentence: of a thread that was there, or of one
    /// that was born since and has none that was seen of its process
    std::string changed_in(const Sample &later) const;

  private:
    std::map<TaskId, std::map<TaskId, Mask>> threads_; ///< by process
};

} // namespace rankwise::tune
