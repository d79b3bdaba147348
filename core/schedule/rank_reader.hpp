// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collectives/operation.hpp"
#include "collectives/select.hpp"
#include "schedule/communicator_nodes.hpp"
#include "schedule/communicators.hpp"
#include "schedule/omission.hpp"
#include "schedule/rank_program.hpp"
#include "schedule/request_outcomes.hpp"
#include "schedule/tags.hpp"
#include "schedule/windows/trace_survey.hpp"
#include "trace/event_reader.hpp"

namespace rankwise::replay {

/// @brief What the readers of all ranks of a traced run have in common.
struct TracedRun {
    /// @param[in] ranks   the first thread of each world rank, in order; they must outlive this
    /// @param[in] library whose choice of collective algorithms is followed
    /// @throws Error a rank has no trace
    TracedRun(std::span<const trace::ThreadRecord *const> ranks, collectives::Library library);

    std::vector<const trace::ThreadRecord *> ranks;
    collectives::Library library;
    Communicators communicators;
    Survey surveyed;
};

/// @brief Turns one rank's events into operations (docs/internals/schedules.md).
class RankReader {
  public:
    /// @param[in]     nodes   where collectives go by who shares a node
    /// @param[in]     tags    the same for all ranks
    /// @param[out]    builder where operations are written
    /// @param[in,out] omitted what could not be taken over
    RankReader(const TracedRun &run, const CommunicatorNodes &nodes, std::uint32_t rank, Tags &tags,
               ScheduleBuilder &builder, Omissions &omitted);

    /// @brief Read on until the rank has as many operations and its program has gone on.
    ///
    /// Then all operations of events that were not read wait for the last one of `program()`.
    /// @param[in] operations number within the rank
    /// @return false at the end of the trace
    bool read(std::uint32_t operations);

    const RankProgram &program() const noexcept { return program_; }

  private:
    struct Request {
        std::int64_t number = trace::no_request;
        trace::CallClass kind = trace::CallClass::other;
        bool persistent = false;
        std::uint32_t comm = 0;
        trace::Message send;
        trace::Receive recv;
        std::uint16_t call = 0;
        trace::CollectiveArguments collective;
        std::vector<std::uint64_t> sizes;
        std::vector<std::int32_t> destinations;
        std::uint32_t nth = 0; ///< the how-many-th alltoallv or neighbourhood collective of its communicator
        std::vector<std::uint32_t> operations;
    };

    void take(const trace::Event &event);
    void leave_out(std::uint16_t call, Omission::Kind how);
    double seconds(std::uint64_t ticks) const;
    void compute(const trace::Event &event);
    bool known_peer(std::int32_t peer);
    std::uint32_t tag(std::uint32_t comm, std::int32_t tag);
    Operation sent(std::uint32_t comm, const trace::Message &message, std::uint16_t call);
    Operation received(std::uint32_t comm, const trace::Message &message);
    Operation posted(const Request &request);
    Request request_of(const trace::Event &event);
    Request &remember(const trace::Event &event, bool persistent);
    void begin(Request &request);
    void complete(const trace::Event &event);
    void forget(std::int64_t number);
    void make_communicator(const trace::Event &event);
    std::vector<std::uint32_t> among_members(const Communicator &c, collectives::Operation &operation);
    std::vector<std::uint32_t> collective(const Request &request);
    std::vector<std::uint32_t> between_groups(const Communicator &c, const Request &request);
    static collectives::Operation operation_of(const Request &request);
    std::vector<std::uint32_t> with_neighbours(const Communicator &c, const Request &request);
    std::vector<std::uint64_t> incoming_sizes(const Communicator &c, std::uint32_t k,
                                              std::uint32_t own) const;

    const TracedRun &run_;
    const CommunicatorNodes &nodes_;
    const std::uint32_t rank_;
    const trace::ThreadRecord &record_;
    Tags &tags_;
    Omissions &omitted_;
    RankProgram program_;
    trace::EventReader reader_;
    std::optional<RequestOutcomes> outcomes_; ///< where receives are posted that do not say what they take
    std::unordered_map<std::int64_t, Request> requests_;
    std::unordered_map<std::uint32_t, std::uint32_t> alltoallvs_, with_neighbours_;
    std::vector<collectives::CollectiveStep> steps_;
    std::vector<std::uint32_t> buffered_; ///< sends, until the program takes their buffer back
    std::size_t sample_ = 0;
    double rest_ps_ = 0;
};

} // namespace rankwise::replay
