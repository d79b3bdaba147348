// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/operation.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Writes one rank's calls, in its program order, with as few operations as they can be.
///
/// Where `RankProgram` writes an operation for each wait, what was waited for holds up the next operation
/// here: fit for programs of which everything is known beforehand.
class CallChain {
  public:
    CallChain(ScheduleBuilder &builder, std::uint32_t rank) : builder_(builder), rank_(rank) {}

    /// @brief Computation; all of it up to the next call is one operation.
    void compute(double seconds) { computed_s_ += seconds; }
    /// @param[in] synchronous ends only when its receive has begun (MPI_Ssend)
    void send(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag, bool synchronous = false);
    void receive(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag);
    /// @return what `wait` takes
    std::uint32_t isend(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag, bool synchronous = false);
    /// @return what `wait` takes
    std::uint32_t ireceive(std::uint32_t peer, std::uint64_t bytes, std::uint32_t tag);
    /// @brief What is written next begins when this has ended, too.
    void wait(std::uint32_t operation);
    /// @brief What is computed from here on is one operation in so many parts, until it is said to be one
    /// part.
    /// @param[in] watched operation that it looks for
    void divide(std::uint32_t parts, std::uint32_t watched) {
        write_computation();
        parts_ = parts;
        watched_ = watched;
    }
    /// @brief Computation in parts, and how long it takes at once.
    void compute_in_parts(double seconds, double at_once_s) {
        computed_s_ += seconds;
        saved_s_ += seconds - at_once_s;
    }
    /// @brief A send that begins when an operation has ended, beside the program.
    /// @return what `wait` takes
    std::uint32_t send_after(std::uint32_t operation, std::uint32_t peer, std::uint64_t bytes,
                             std::uint32_t tag);
    /// @brief This rank's part of a collective.
    /// @param[in] members world ranks of the communicator, by rank in it
    /// @param[in] tag     of all its messages
    void collective(std::span<const collectives::CollectiveStep> steps,
                    std::span<const std::uint32_t> members, std::uint32_t tag);
    /// @brief Write what was computed after the last call.
    void end() { write_computation(); }

  private:
    struct Before {
        std::uint32_t operation;
        bool at_start;
    };
    void write_computation();
    std::uint32_t add(Operation operation);
    void then(Operation operation);

    ScheduleBuilder &builder_;
    std::uint32_t rank_;
    std::vector<Before> before_; ///< what the next operation waits for
    double computed_s_ = 0;
    double saved_s_ = 0;      ///< of it, if it were not in parts
    std::uint32_t parts_ = 1; ///< of what is computed
    std::uint32_t watched_ = 0;
};

} // namespace rankwise::replay
