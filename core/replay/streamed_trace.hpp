// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/prediction.hpp"
#include "schedule/matching.hpp"
#include "schedule/rank_reader.hpp"

namespace rankwise::replay {

/// @brief A traced run that is replayed from its coded traces: only a window of its schedule is in memory.
///
/// The outcome is that of the whole schedule, to the last bit. Each replay reads the traces again.
class StreamedTrace {
  public:
    /// @param[in] node   of each world rank, where collectives go by who shares a node; empty: not known
    /// @param[in] window how many operations to hold; 0: as many as serve both the caches and the ranks
    /// @throws Error messages without a receive or the other way round; receives of which the trace does not
    /// say what they took
    explicit StreamedTrace(std::shared_ptr<const TracedRun> run, std::span<const std::uint32_t> node = {},
                           std::size_t window = 0);

    Prediction replay(const machine::Machine &machine, const machine::Placement &placement) const;

    /// @brief The makespan of each placement, each by a replay; placements are spread over threads.
    /// @param[in] threads 0: as many as the process may use cores
    std::vector<Picoseconds> makespans(const machine::Machine &machine,
                                       std::span<const machine::Placement> placements,
                                       unsigned threads) const;

    std::size_t ranks() const noexcept { return run_->ranks.size(); }
    std::uint64_t operations() const noexcept;
    std::uint64_t messages() const noexcept { return messages_; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    const Omissions &omitted() const noexcept { return omitted_; }

  private:
    std::shared_ptr<const TracedRun> run_;
    CommunicatorNodes nodes_;
    std::size_t window_;
    Omissions omitted_;
    std::vector<std::uint64_t> operations_; ///< of each rank
    MessageRange range_;
    std::uint64_t messages_ = 0, bytes_ = 0;
};

} // namespace rankwise::replay
