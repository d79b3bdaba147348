// SPDX-License-Identifier: BSD-3-Clause
#include "replay/streamed_trace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "error.hpp"
#include "in_threads.hpp"
#include "replay/machine_replay.hpp"
#include "schedule/streams.hpp"
#include "schedule/windows/trace_window.hpp"

namespace rankwise::replay {
namespace {

/// Few enough that the window stays near the core, enough for each rank that its reader is not called for
/// single events.
constexpr std::size_t least_window = std::size_t{1} << 15, window_of_rank = 64;

constexpr std::uint32_t read_at_once = 1u << 16;

} // namespace

StreamedTrace::StreamedTrace(std::shared_ptr<const TracedRun> run, std::span<const std::uint32_t> node,
                             std::size_t window)
    : run_(std::move(run)), nodes_(run_->communicators, node),
      window_(window > 0 ? window : std::max(least_window, window_of_rank * run_->ranks.size())) {
    Tags tags;
    ScheduleBuilder builder(static_cast<std::uint32_t>(ranks()), "event");
    ScheduleBuilder::Part part;
    MessageBalance balance(static_cast<std::uint32_t>(ranks()));
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        RankReader reader(*run_, nodes_, rank, tags, builder, omitted_);
        for (bool more = true; more;) {
            if (builder.size(rank) > std::numeric_limits<std::uint32_t>::max() - 2 * read_at_once)
                throw Error("rank `" + std::to_string(rank) + "` has more than 2^32 operations",
                            "record a part of the run");
            more = reader.read(builder.size(rank) + read_at_once);
            builder.take(rank, part);
            for (std::size_t i = 0; i < part.operations.size(); ++i) {
                const Operation &operation = part.operations[i];
                balance.add(rank, operation, part.origin[i]);
                if (operation.kind() != Kind::send)
                    continue;
                range_.add(operation, rank);
                ++messages_;
                bytes_ += operation.bytes();
            }
        }
        operations_.push_back(builder.size(rank));
    }
    balance.check();
}

std::uint64_t StreamedTrace::operations() const noexcept {
    return std::accumulate(operations_.begin(), operations_.end(), std::uint64_t{0});
}

Prediction StreamedTrace::replay(const machine::Machine &machine, const machine::Placement &placement) const {
    TraceWindow window(*run_, nodes_, operations_, window_);
    return replay_on_machine(window, range_, machine, placement);
}

std::vector<Picoseconds> StreamedTrace::makespans(const machine::Machine &machine,
                                                  std::span<const machine::Placement> placements,
                                                  unsigned threads) const {
    std::vector<Picoseconds> out(placements.size());
    in_threads(placements.size(), threads,
               [&](std::size_t k) { out[k] = replay(machine, placements[k]).makespan(); });
    return out;
}

} // namespace rankwise::replay
