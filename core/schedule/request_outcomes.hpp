// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "trace/event_reader.hpp"

namespace rankwise::replay {

/// @brief Says of a posted receive what it will have taken when it ends.
///
/// Reads the trace ahead of those who ask, as far as they ask; it remembers what ended in between.
class RequestOutcomes {
  public:
    explicit RequestOutcomes(const trace::PackedTrace &trace) : reader_(trace) {}

    /// @brief How a receive that is begun now will end; asked once each time it is begun.
    /// @return nothing if it does not end in the trace
    std::optional<trace::Completion> next(std::int64_t request);

    /// @brief A request is freed; nobody asks for it any more.
    void forget(std::int64_t request) { ended_.erase(request); }

  private:
    void take(const trace::Event &event);

    trace::EventReader reader_;
    std::unordered_map<std::int64_t, bool> receives_; ///< not ended yet: whether they are persistent
    std::unordered_map<std::int64_t, std::deque<std::optional<trace::Completion>>> ended_;
};

} // namespace rankwise::replay
