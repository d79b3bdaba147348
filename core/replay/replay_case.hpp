// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "large_array.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/lookahead.hpp"
#include "replay/observer.hpp"
#include "replay/prediction.hpp"
#include "schedule/matched_operation.hpp"
#include "schedule/windows/trace_window.hpp"

namespace rankwise::replay {

/// What is replayed, and who listens.
struct Case {
    const Schedule &schedule;
    const LargeArray<MatchedOperation> &steps;
    const std::vector<std::uint64_t> &sizes; ///< of messages, see `Matching`
    const machine::Machine &machine;
    const machine::Placement &placement;
    const Lookahead &ahead;
    Observer *observer = nullptr;  ///< hears of everything; needs one order
    TraceWindow *window = nullptr; ///< of which `schedule` and `steps` are; needs one thread
    unsigned threads = 1;
};

/// @brief Replay a case: the events of a queue in the order of time, on any machine.
/// @throws Error deadlock, with the ranks and operations in the circle
Prediction replay_by_time(const Case &of_case);

/// @brief As above, with the same outcome: rank after rank, where `Lookahead::by_rank` allows it.
Prediction replay_by_rank(const Case &of_case);

} // namespace rankwise::replay
