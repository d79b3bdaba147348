// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "large_array.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// @brief What each operation sets free, in 4 bytes an operation for almost all of them.
///
/// Nearly always these are operations one after the other (all that a wait was for, or the wait), that begin
/// after its end.
class Releases {
  public:
    Releases() = default;
    explicit Releases(const Schedule &schedule) {
        code_.reserve(schedule.operations.size());
        for (std::uint32_t op = 0; op < schedule.operations.size(); ++op)
            code_.push_back(code_of(schedule, op));
    }

    static constexpr std::uint32_t listed = 0xffffffffu; ///< see `Schedule::successors`

    std::uint32_t code(std::uint32_t op) const noexcept { return code_[op]; }
    const std::uint32_t *address(std::uint32_t op) const noexcept { return code_.data() + op; }

    static std::uint32_t count(std::uint32_t code) noexcept { return code & 0xffffu; }
    static std::uint32_t first(std::uint32_t op, std::uint32_t code) noexcept {
        return op + static_cast<std::uint32_t>(static_cast<std::int32_t>(code) >> 16);
    }

  private:
    static std::uint32_t code_of(const Schedule &schedule, std::uint32_t op) {
        const std::uint32_t begin = schedule.edge_first[op], count = schedule.edge_first[op + 1] - begin;
        if (count == 0)
            return 0;
        const auto *const edges = schedule.successors.data() + begin;
        const std::int64_t distance = std::int64_t{edges[0].target()} - op;
        bool in_a_row = count < 0xffffu && distance >= -0x8000 && distance < 0x7fff;
        for (std::uint32_t e = 0; e < count && in_a_row; ++e)
            in_a_row = !edges[e].at_start() && edges[e].target() == edges[0].target() + e;
        return in_a_row ? static_cast<std::uint32_t>(distance) << 16 | count : listed;
    }

    LargeArray<std::uint32_t> code_;
};

/// @brief Which operations have begun and ended, and which become ready by that: 5 bytes an operation.
class Progress {
  public:
    /// Bits of an operation; a model has the others for itself.
    enum : std::uint8_t { begun = 1, ended = 2, first_own_bit = 4 };

    Progress(const Schedule &schedule, const Releases &releases)
        : schedule_(schedule), releases_(releases),
          left_(schedule.waits_for.begin(), schedule.waits_for.end()), bits_(schedule.operations.size()) {}

    std::size_t size() const noexcept { return bits_.size(); }
    bool has(std::uint32_t op, std::uint8_t bit) const noexcept { return (bits_[op] & bit) != 0; }
    std::uint8_t &bits(std::uint32_t op) noexcept { return bits_[op]; }

    bool is_ready(std::uint32_t op) const noexcept { return left_[op] == 0; }
    bool all_ended() const noexcept { return ended_count_ == bits_.size(); }

    /// @brief Room for a list's link; the edges are counted in it until the operation is ready.
    std::uint32_t &next(std::uint32_t op) noexcept { return left_[op]; }

    void begin(std::uint32_t op) {
        bits_[op] |= begun;
        if (releases_.code(op) == Releases::listed)
            count_down_listed(op, true);
    }
    void end(std::uint32_t op) {
        bits_[op] |= ended;
        ++ended_count_;
        const std::uint32_t code = releases_.code(op);
        if (code == Releases::listed) {
            count_down_listed(op, false);
            return;
        }
        const std::uint32_t first = Releases::first(op, code), last = first + Releases::count(code);
        for (std::uint32_t target = first; target < last; ++target)
            count_down(target);
    }

    /// @brief Fetch what is kept of an operation and of those behind it into the cache.
    void prefetch(std::uint32_t op) const noexcept {
        __builtin_prefetch(left_.data() + op);
        __builtin_prefetch(left_.data() + op + 12);
        __builtin_prefetch(bits_.data() + op);
        __builtin_prefetch(releases_.address(op));
    }

    std::vector<std::uint32_t> freed; ///< operations that became ready, in the order in which they did

  private:
    void count_down(std::uint32_t target) {
        if (--left_[target] == 0)
            freed.push_back(target);
    }
    void count_down_listed(std::uint32_t op, bool at_start) {
        for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e)
            if (schedule_.successors[e].at_start() == at_start)
                count_down(schedule_.successors[e].target());
    }

    const Schedule &schedule_;
    const Releases &releases_;
    LargeArray<std::uint32_t> left_;
    LargeArray<std::uint8_t> bits_;
    std::size_t ended_count_ = 0;
};

/// First in, first out; linked through `Progress::next`.
struct List {
    std::uint32_t head = any, tail = any;

    bool empty() const noexcept { return head == any; }
    void append(Progress &progress, std::uint32_t op) {
        progress.next(op) = any;
        if (empty())
            head = op;
        else
            progress.next(tail) = op;
        tail = op;
    }
    std::uint32_t take(Progress &progress) {
        const std::uint32_t op = head;
        head = progress.next(op);
        return op;
    }
};

} // namespace rankwise::replay
