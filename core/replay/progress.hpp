// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "large_array.hpp"
#include "schedule/matched_operation.hpp"

namespace rankwise::replay {

/// How far an operation is.
struct OperationState {
    std::uint32_t left = 0; ///< edges into it that are not satisfied; then room for a list's link
    std::uint32_t bits = 0;
};

/// @return of all operations of a schedule, at its beginning
inline LargeArray<OperationState> states_at_begin(const Schedule &schedule) {
    LargeArray<OperationState> states(schedule.waits_for.size());
    for (std::size_t op = 0; op < states.size(); ++op)
        states[op].left = schedule.waits_for[op];
    return states;
}

/// @brief Which operations have begun and ended, and which become ready by that: 8 bytes an operation.
class Progress {
  public:
    /// Bits of an operation; a model has the others for itself.
    enum : std::uint32_t { begun = 1, ended = 2 };
    static constexpr unsigned own_shift = 2;

    /// @param[in,out] states of all operations; several may go on with different ranks of them at once
    Progress(const Schedule &schedule, const LargeArray<MatchedOperation> &steps,
             LargeArray<OperationState> &states)
        : schedule_(schedule), steps_(steps.data()), states_(states.data()), size_(states.size()) {}

    std::size_t size() const noexcept { return size_; }
    std::size_t ended_count() const noexcept { return ended_count_; } ///< of those that this one has ended
    bool has(std::uint32_t op, std::uint32_t bit) const noexcept { return (states_[op].bits & bit) != 0; }
    std::uint32_t bits(std::uint32_t op) const noexcept { return states_[op].bits; }
    std::uint32_t &bits(std::uint32_t op) noexcept { return states_[op].bits; }

    bool is_ready(std::uint32_t op) const noexcept { return states_[op].left == 0; }
    bool all_ended() const noexcept { return ended_count_ == size_; }

    /// @brief Room for a list's link; the edges are counted in it until the operation is ready.
    std::uint32_t &next(std::uint32_t op) noexcept { return states_[op].left; }

    void begin(std::uint32_t op) {
        states_[op].bits |= begun;
        if (steps_[op].release.count == Release::listed)
            count_down_listed(op, true);
    }
    void end(std::uint32_t op) {
        states_[op].bits |= ended;
        ++ended_count_;
        const Release release = steps_[op].release;
        if (release.count == Release::listed) {
            count_down_listed(op, false);
            return;
        }
        const std::uint32_t first = op + static_cast<std::uint32_t>(release.distance);
        for (std::uint32_t k = 0; k < release.count; ++k)
            count_down(first + k);
    }

    /// @brief Fetch an operation and those right behind it into the cache.
    void prefetch(std::uint32_t op) const noexcept {
        __builtin_prefetch(steps_ + op);
        __builtin_prefetch(steps_ + op + 2);
        __builtin_prefetch(states_ + op);
        __builtin_prefetch(states_ + op + 6);
    }

    /// @brief The schedule, its steps and the states have changed, see `renumbered_states`.
    void renumber(const LargeArray<MatchedOperation> &steps, LargeArray<OperationState> &states) {
        steps_ = steps.data();
        states_ = states.data();
        size_ = states.size();
        ended_count_ = 0;
        for (const OperationState &state : states)
            ended_count_ += (state.bits & ended) != 0;
    }

    void prefetch_one(std::uint32_t op) const noexcept {
        __builtin_prefetch(steps_ + op);
        __builtin_prefetch(states_ + op);
    }
    /// @brief Fetch the operations that it sets free.
    void prefetch_released(std::uint32_t op) const noexcept {
        const Release release = steps_[op].release;
        if (release.count == Release::listed)
            return;
        const std::uint32_t first = op + static_cast<std::uint32_t>(release.distance);
        const std::uint32_t end = first + std::min<std::uint32_t>(release.count, 16);
        for (std::uint32_t target = first; target < end; target += 2)
            __builtin_prefetch(steps_ + target);
        for (std::uint32_t target = first; target < end + 7; target += 8)
            __builtin_prefetch(states_ + target);
    }

    /// @brief Fetch what the rank of an operation that begins comes to some time later.
    void prefetch_ahead(std::uint32_t op) const noexcept {
        constexpr std::uint32_t distance = 16; // half a KiB: little enough for thousands of ranks
        __builtin_prefetch(steps_ + op + distance);
        __builtin_prefetch(states_ + op + distance);
    }

    std::vector<std::uint32_t> freed; ///< operations that became ready, in the order in which they did

  private:
    void count_down(std::uint32_t target) {
        if (--states_[target].left == 0)
            freed.push_back(target);
    }
    void count_down_listed(std::uint32_t op, bool at_start) {
        for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e)
            if (schedule_.successors[e].at_start() == at_start)
                count_down(schedule_.successors[e].target());
    }

    const Schedule &schedule_;
    const MatchedOperation *steps_;
    OperationState *states_;
    std::size_t size_;
    std::size_t ended_count_ = 0;
};

/// @brief The states of a schedule that has changed; operations that it had before have other numbers.
/// @param[in] now   number of each as it was, `any` of those that are gone
/// @param[in] fresh those from here on, as it was, wait for what the schedule says now
inline LargeArray<OperationState> renumbered_states(const LargeArray<OperationState> &were,
                                                    const Schedule &schedule,
                                                    std::span<const std::uint32_t> now, std::uint32_t fresh) {
    LargeArray<OperationState> states = states_at_begin(schedule);
    for (std::uint32_t op = 0; op < now.size(); ++op)
        if (now[op] != any) {
            OperationState &state = states[now[op]];
            state = {op < fresh ? were[op].left : state.left, were[op].bits};
        }
    return states;
}

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
