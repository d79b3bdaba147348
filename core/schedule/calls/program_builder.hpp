// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/node_partition.hpp"
#include "collectives/operation.hpp"
#include "collectives/select.hpp"
#include "schedule/rank_program.hpp"
#include "schedule/schedule.hpp"
#include "schedule/tags.hpp"

namespace rankwise::replay {

/// @brief A schedule written call by call, as readers of other tools' traces find the calls of each rank.
///
/// Ranks are world ranks, in any order; the calls of one rank come in its program order.
class ProgramBuilder {
  public:
    /// @param[in] ranks       of the world
    /// @param[in] library     whose choice of collective algorithms is followed
    /// @param[in] origin_word what the numbers given to `at` count, for messages: "line", "event"
    ProgramBuilder(std::uint32_t ranks, collectives::Library library, std::string origin_word);

    /// @brief Describe a communicator; number 0 is there and has all ranks.
    /// @param[in] members world ranks by rank in it
    /// @return its number
    std::uint32_t communicator(std::vector<std::uint32_t> members);

    /// @brief Where the following calls of a rank stand in its trace.
    void at(std::uint32_t rank, std::uint32_t origin) { program(rank).event = origin; }

    /// @brief Which world ranks share a node, for collectives of the world that go by that.
    void place(std::span<const std::uint32_t> node);

    void compute(std::uint32_t rank, Picoseconds time);
    /// @param[in] synchronous ends only when its receive has begun (MPI_Ssend)
    void send(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
              std::int32_t tag, bool synchronous = false);
    /// @param[in] peer `any` takes from any source
    void receive(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                 std::int32_t tag);
    /// @param[in] synchronous ends only when its receive has begun (MPI_Issend)
    /// @return a request, for `wait`
    std::uint32_t isend(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                        std::int32_t tag, bool synchronous = false);
    /// @return a request, for `wait`
    std::uint32_t ireceive(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                           std::int32_t tag);
    /// @brief A receive from any source: what it took, now that it is known.
    void resolve(std::uint32_t rank, std::uint32_t request, std::uint32_t peer, std::uint32_t comm,
                 std::int32_t tag);
    /// @brief The program goes on when these requests of the rank have ended.
    void wait(std::uint32_t rank, std::span<const std::uint32_t> requests);

    /// @brief One rank's call of a collective, `operation.rank` and `operation.size` excepted.
    /// @param[in] algorithm what its messages are, instead of what the library chooses
    /// @param[in] combine_ps_per_byte processor time to combine what a reduction receives with a rank's own
    /// @return requests; the program goes on at once, so a blocking collective waits for them
    std::vector<std::uint32_t> collective(std::uint32_t rank, std::uint32_t comm,
                                          collectives::Operation operation,
                                          const collectives::Algorithm *algorithm = nullptr,
                                          double combine_ps_per_byte = 0);

    /// @throws Error as ScheduleBuilder::finish
    Schedule finish() { return builder_.finish(); }

  private:
    RankProgram &program(std::uint32_t rank);
    void check_request(std::uint32_t rank, std::uint32_t request) const;
    const std::vector<std::uint32_t> &members(std::uint32_t comm) const;
    Operation message(bool is_send, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                      std::int32_t tag, bool synchronous = false);

    ScheduleBuilder builder_;
    std::vector<RankProgram> programs_;
    std::vector<std::vector<std::uint32_t>> communicators_;
    collectives::Library library_;
    std::optional<collectives::NodePartition> nodes_;
    Tags tags_;
    std::vector<collectives::CollectiveStep> steps_;
};

} // namespace rankwise::replay
