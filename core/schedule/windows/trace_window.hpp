// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "large_array.hpp"
#include "schedule/matched_operation.hpp"
#include "schedule/rank_reader.hpp"
#include "schedule/schedule.hpp"
#include "schedule/streams.hpp"
#include "schedule/tags.hpp"

namespace rankwise::replay {

/// @brief The part of a traced run that a replay needs now: operations that have not ended, messages under
/// way, and some of what comes next on each rank.
///
/// `schedule` and `steps` are as those of a whole schedule, with two kinds of operations more. The last
/// operation of a rank whose trace goes on is the *rest* of it: it becomes ready when something does that was
/// not read yet, and then the replay has to `read_on` before anything else. After the operations of all ranks
/// come receives that were not read yet but whose messages are under way.
///
/// Operations are numbered anew each time, in the same order: ranks, and within a rank its program. So ties
/// are broken as in the whole schedule. What a window holds is bounded by its size and what is under way;
/// each reading adds a part of the size, so that the work is linear in the length of the traces.
class TraceWindow {
  public:
    /// What the replay says of each operation.
    enum : std::uint8_t {
        begun = 1,
        ended = 2,
        arrived = 4 /* of a receive: its message */,
        under_way = 8 /* of a send that ended without its receive */
    };

    /// The kind of a rank's rest.
    static constexpr Kind rest = Kind{0};

    /// @param[in] nodes      where collectives go by who shares a node
    /// @param[in] operations how many each rank will have in the end
    /// @param[in] size       how many operations to hold
    TraceWindow(const TracedRun &run, const CommunicatorNodes &nodes,
                std::span<const std::uint64_t> operations, std::size_t size);

    /// How the numbers changed.
    struct Change {
        std::vector<std::uint32_t> now;   ///< of each operation as it was; `any` of those that are gone
        std::uint32_t receives_from = 0;  ///< operations from here on, as it was, were not read yet
        std::vector<std::uint32_t> ready; ///< operations of the ranks at their rest that wait for nothing
    };

    /// @brief Drop what is over, and read what comes next on the ranks that need it.
    /// @param[in] states of each operation, bits as above
    /// @param[in] at_rest ranks whose rest became ready
    /// @throws Error a message that meets a smaller receive
    const Change &read_on(std::span<const std::uint8_t> states, std::span<const std::uint32_t> at_rest);

    Schedule schedule;
    LargeArray<MatchedOperation> steps;

  private:
    struct Rank {
        RankReader reader;
        std::uint64_t total;
        bool is_read = false; ///< to its end
        std::uint32_t kept = 0;
        bool reads = false;
        ScheduleBuilder::Part part;
    };

    std::uint32_t first_receive() const { return schedule.first.back(); }
    void keep(std::span<const std::uint8_t> states);
    void read(std::span<const std::uint32_t> at_rest);
    void number();
    void carry_over();
    void add_parts();
    void match(std::uint32_t rank, std::uint32_t op);
    void add_receives();
    void link(std::span<const std::uint8_t> states);
    std::uint32_t find(std::uint32_t rank, std::uint32_t in_rank) const;
    void add_operation(std::uint32_t rank, const Operation &operation, std::uint32_t partner,
                       std::uint32_t peer);

    const std::size_t size_;
    std::uint64_t total_ = 0;
    Tags tags_;
    Omissions omitted_;
    ScheduleBuilder builder_;
    std::vector<Rank> ranks_;
    Streams streams_;
    Change change_;
    Schedule was_;
    LargeArray<MatchedOperation> steps_were_;
    std::vector<std::uint32_t> in_rank_, in_rank_was_; ///< number of each operation within its rank
    std::vector<ScheduleBuilder::Edge> edges_;
};

} // namespace rankwise::replay
