// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/queues/event.hpp"

namespace rankwise::replay {

/// @brief Earliest event first: a heap of four children a node, whose siblings share one cache line, and one
/// event beside it.
///
/// The event beside the heap spares the way through it to events that come up as soon as they are made, which
/// many do. Events that agree in time and order come out in an unspecified order; users give distinct orders.
class EventQueue {
  public:
    bool empty() const noexcept { return !beside_is_used_ && heap_.empty(); }

    /// @return the earliest event, `never_happens` if there is none
    const Event &top() const noexcept {
        if (heap_.empty())
            return beside_is_used_ ? beside_ : never_happens;
        return beside_is_used_ && before(beside_, heap_.front()) ? beside_ : heap_.front();
    }

    std::int64_t next() const noexcept { return top().time; }

    void push(const Event &event) {
        if (!beside_is_used_) {
            beside_ = event;
            beside_is_used_ = true;
        } else if (before(event, beside_)) {
            push_to_heap(beside_);
            beside_ = event;
        } else {
            push_to_heap(event);
        }
    }

    /// @brief The events nearest to the top, in no order.
    std::span<const Event> near_top(std::size_t most) const noexcept {
        return {heap_.data(), std::min(most, heap_.size())};
    }

    /// @brief Bring what is coming into the cache, then call with it.
    void fetch() const { __builtin_prefetch(heap_.data()); }
    template <class Call> void for_coming(const Call &call) const {
        if (beside_is_used_)
            call(beside_);
        for (const Event &event : near_top(64))
            call(event);
    }

    Event pop() {
        if (beside_is_used_ && (heap_.empty() || before(beside_, heap_.front()))) {
            beside_is_used_ = false;
            return beside_;
        }
        return pop_from_heap();
    }

    /// @brief Change all events in a way that leaves them in order.
    template <class Change> void change(const Change &to) {
        for (Event &event : heap_)
            to(event);
        if (beside_is_used_)
            to(beside_);
    }

  private:
    void push_to_heap(const Event &event) {
        heap_.push_back(event);
        std::size_t hole = heap_.size() - 1;
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / children;
            if (!before(event, heap_[parent]))
                break;
            heap_[hole] = heap_[parent];
            hole = parent;
        }
        heap_[hole] = event;
    }

    Event pop_from_heap() {
        const Event out = heap_.front();
        const Event last = heap_.back();
        heap_.pop_back();
        if (heap_.empty())
            return out;
        const std::size_t size = heap_.size();
        std::size_t hole = 0;
        for (;;) {
            const std::size_t child = hole * children + 1;
            if (child >= size)
                break;
            std::size_t least = child;
            for (std::size_t other = child + 1; other < child + children && other < size; ++other)
                least = before(heap_[other], heap_[least]) ? other : least;
            if (!before(heap_[least], last))
                break;
            heap_[hole] = heap_[least];
            hole = least;
        }
        heap_[hole] = last;
        return out;
    }

    static constexpr std::size_t children = 4;
    std::vector<Event> heap_;
    Event beside_{};
    bool beside_is_used_ = false;
};

} // namespace rankwise::replay
