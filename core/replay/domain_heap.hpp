// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/event_queue.hpp"

namespace rankwise::replay {

/// @brief Which of many queues has the earliest event: a heap of their first events that knows where each
/// queue is.
///
/// `Event::what` of an entry is the number of its queue.
class DomainHeap {
  public:
    explicit DomainHeap(std::size_t queues) : position_(queues, absent) {}

    bool empty() const noexcept { return heap_.empty(); }
    const Event &top() const noexcept { return heap_.front(); }

    /// @return the first event of all queues but the first, `never_happens` if there is none
    Event second() const noexcept {
        Event least = never_happens;
        for (std::size_t i = 1; i <= children && i < heap_.size(); ++i)
            least = before(heap_[i], least) ? heap_[i] : least;
        return least;
    }

    /// @brief A queue's first event has changed.
    void update(std::uint32_t queue, const Event &first) {
        const Event entry{first.time, first.order, queue};
        std::size_t at = position_[queue];
        if (at == absent) {
            at = heap_.size();
            heap_.push_back(entry);
        }
        if (!up(at, entry))
            down(at, entry);
    }

    /// @brief A queue has no events left.
    void remove(std::uint32_t queue) {
        const std::size_t at = position_[queue];
        position_[queue] = absent;
        const Event last = heap_.back();
        heap_.pop_back();
        if (at < heap_.size() && !up(at, last))
            down(at, last);
    }

  private:
    void put(std::size_t at, const Event &entry) {
        heap_[at] = entry;
        position_[entry.what] = static_cast<std::uint32_t>(at);
    }
    /// @return whether it moved
    bool up(std::size_t at, const Event &entry) {
        const std::size_t from = at;
        for (; at > 0 && before(entry, heap_[(at - 1) / children]); at = (at - 1) / children)
            put(at, heap_[(at - 1) / children]);
        put(at, entry);
        return at != from;
    }
    void down(std::size_t at, const Event &entry) {
        for (;;) {
            const std::size_t child = at * children + 1;
            if (child >= heap_.size())
                break;
            std::size_t least = child;
            for (std::size_t other = child + 1; other < child + children && other < heap_.size(); ++other)
                least = before(heap_[other], heap_[least]) ? other : least;
            if (!before(heap_[least], entry))
                break;
            put(at, heap_[least]);
            at = least;
        }
        put(at, entry);
    }

    static constexpr std::size_t children = 4;
    static constexpr std::uint32_t absent = 0xffffffffu;
    std::vector<Event> heap_;
    std::vector<std::uint32_t> position_;
};

} // namespace rankwise::replay
