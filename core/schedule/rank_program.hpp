// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief Writes what a rank does one call after the other: the chain of its calls, and what runs beside it.
class RankProgram {
  public:
    RankProgram(ScheduleBuilder &builder, std::uint32_t rank) : builder_(builder), rank_(rank) {}

    /// Number of the trace's event that is being written, for messages.
    std::uint32_t event = 0;

    /// How often the program went on: all that is written next waits for its last step, if there is one.
    std::uint32_t steps() const noexcept { return steps_; }
    std::uint32_t last() const noexcept { return last_; }
    bool last_at_start() const noexcept { return at_start_; } ///< its start suffices
    std::uint32_t size() const { return builder_.size(rank_); }

    /// @brief The program goes on when this has ended (a blocking call, a computation).
    std::uint32_t then(Operation operation) {
        last_ = beside(operation);
        at_start_ = false;
        ++steps_;
        return last_;
    }
    /// @brief The program goes on when this has begun (a nonblocking send: its overhead is the caller's).
    std::uint32_t then_start(Operation operation) {
        then(operation);
        at_start_ = true;
        return last_;
    }
    /// @brief Begins here; the program goes on at once (a nonblocking receive).
    std::uint32_t beside(Operation operation) {
        const std::uint32_t number = builder_.add(rank_, operation, {0, 0}, event);
        if (steps_ > 0)
            builder_.order(rank_, number, last_, at_start_);
        return number;
    }
    /// @brief Begins when others have ended, the program goes on at once (later rounds of a nonblocking
    /// collective).
    std::uint32_t after(std::uint32_t earlier, Operation operation) {
        const std::uint32_t number = builder_.add(rank_, operation, {0, 0}, event);
        builder_.order(rank_, number, earlier);
        return number;
    }
    /// @brief The program goes on when these have ended too (a wait).
    void wait_for(std::span<const std::uint32_t> operations) {
        if (operations.empty())
            return;
        const std::uint32_t joint = then(Operation::calc(0));
        for (const std::uint32_t operation : operations)
            builder_.order(rank_, joint, operation);
    }
    /// @return an operation that ends with the last of these, beside the program
    std::uint32_t join(std::span<const std::uint32_t> operations) {
        if (operations.size() == 1)
            return operations.front();
        const std::uint32_t joint = builder_.add(rank_, Operation::calc(0), {0, 0}, event);
        for (const std::uint32_t operation : operations)
            builder_.order(rank_, joint, operation);
        return joint;
    }
    /// @brief A posted receive with a wildcard: what it received, now that it is known.
    void resolve(std::uint32_t receive, std::uint32_t peer, std::uint32_t tag) {
        Operation operation = builder_.operation(rank_, receive);
        operation.peer = peer;
        operation.tag = tag;
        builder_.replace(rank_, receive, operation);
    }

  private:
    ScheduleBuilder &builder_;
    std::uint32_t rank_;
    std::uint32_t last_ = 0;
    bool at_start_ = false;
    std::uint32_t steps_ = 0;
};

} // namespace rankwise::replay
