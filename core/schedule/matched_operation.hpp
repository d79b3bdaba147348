// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// @brief What an operation sets free. Nearly always these are operations one after the other (all that a
/// wait was for, or the wait), which begin after its end: they fit into 4 bytes.
struct Release {
    std::uint32_t count : 16;
    std::int32_t distance : 16; ///< from the operation to the first of them

    static constexpr std::uint32_t listed = 0xffffu; ///< as count: see `Schedule::successors`

    static Release of(const Schedule &schedule, std::uint32_t op) {
        const std::uint32_t begin = schedule.edge_first[op], edges = schedule.edge_first[op + 1] - begin;
        if (edges == 0)
            return {0, 0};
        const auto *const successors = schedule.successors.data() + begin;
        const std::int64_t first = std::int64_t{successors[0].target()} - op;
        bool in_a_row = edges < listed && first >= -0x8000 && first < 0x8000;
        for (std::uint32_t e = 0; e < edges && in_a_row; ++e)
            in_a_row = !successors[e].at_start() && successors[e].target() == successors[0].target() + e;
        if (!in_a_row)
            return {listed, 0};
        return {static_cast<std::uint16_t>(edges), static_cast<std::int16_t>(first)};
    }
};

/// @brief All that a replay looks at of an operation, in half a cache line.
struct alignas(32) MatchedOperation {
    std::uint64_t packed;  ///< kind in the two highest bits; bytes of the message, or picoseconds
    std::uint32_t partner; ///< for a send its receive, for a receive its send, `any` for calc and unmatched
    std::uint32_t peer;    ///< rank at the other end, or `any`; of a computation in parts its `rest`
    std::uint32_t rank;
    std::uint32_t stream; ///< number of (sender, receiver, tag), `any` for calc and wildcard receives;
                          ///< of a computation in parts how far before it what it watches is, or `any`
    Release release;
    Lane lane;
    std::uint16_t size_class = no_class; ///< of a message: number of its size, see `Matching::sizes`;
                                         ///< of a computation with several parts: how many

    static constexpr std::uint16_t no_class = 0xffff;
    static constexpr int kind_shift = 62;

    Kind kind() const noexcept { return static_cast<Kind>(packed >> kind_shift); }
    /// Of the message; of a receive without a partner the most it takes.
    std::uint64_t bytes() const noexcept { return packed & Operation::size_mask; }
    /// What decides what a message costs: its bytes, and whether it is synchronous.
    std::uint64_t message() const noexcept { return packed & Operation::mask; }
    /// Whether the sender goes on without the receiver.
    bool eager(std::uint64_t limit) const noexcept {
        return (packed & Operation::synchronous_bit) == 0 && bytes() <= limit;
    }
    Picoseconds time() const noexcept { return static_cast<Picoseconds>(packed & Operation::mask); }
    /// Of a computation.
    std::uint32_t parts() const noexcept { return size_class == no_class ? 1 : size_class; }

    static std::uint64_t pack(Kind kind, std::uint64_t value) noexcept {
        return static_cast<std::uint64_t>(kind) << kind_shift | value;
    }
};
static_assert(sizeof(MatchedOperation) == 32);

} // namespace rankwise::replay
