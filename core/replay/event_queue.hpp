// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankwise::replay {

/// Something that happens to an operation; `order` decides between events of one time.
struct Event {
    std::int64_t time;
    std::uint32_t order;
    std::uint32_t what;
};

inline bool before(const Event &a, const Event &b) noexcept {
    return a.time < b.time || (a.time == b.time && a.order < b.order);
}

/// @brief Earliest event first: a heap of four children a node, whose siblings share one cache line.
///
/// Events that agree in time and order come out in an unspecified order; users give distinct orders.
class EventQueue {
  public:
    bool empty() const noexcept { return heap_.empty(); }
    const Event &top() const noexcept { return heap_.front(); }

    void push(Event event) {
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

    Event pop() {
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
                if (before(heap_[other], heap_[least]))
                    least = other;
            if (!before(heap_[least], last))
                break;
            heap_[hole] = heap_[least];
            hole = least;
        }
        heap_[hole] = last;
        return out;
    }

  private:
    static constexpr std::size_t children = 4;
    std::vector<Event> heap_;
};

} // namespace rankwise::replay
