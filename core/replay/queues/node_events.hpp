// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/queues/event_queue.hpp"

namespace rankwise::replay {

/// Sorts few events that are nearly in order; keeps the order of equals.
template <class Any> void sort_few(std::vector<Any> &events) {
    if (events.size() > 64) {
        std::stable_sort(events.begin(), events.end(), Before{});
        return;
    }
    for (std::size_t k = 1; k < events.size(); ++k) {
        const Any event = events[k];
        std::size_t hole = k;
        for (; hole > 0 && before(event, events[hole - 1]); --hole)
            events[hole] = events[hole - 1];
        events[hole] = event;
    }
}

/// First in, first out.
class EventFifo {
  public:
    bool empty() const noexcept { return head_ == events_.size(); }
    const Event &front() const noexcept { return events_[head_]; }
    const Event &back() const noexcept { return events_.back(); }
    std::int64_t next() const noexcept { return empty() ? never_happens.time : front().time; }
    void push(const Event &event) {
        if (empty() || (head_ > 64 && 2 * head_ > events_.size())) {
            events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(head_));
            head_ = 0;
        }
        events_.push_back(event);
    }
    Event pop() { return events_[head_++]; }
    template <class Change> void change(const Change &to) {
        for (std::size_t k = head_; k < events_.size(); ++k)
            to(events_[k]);
    }
    std::span<const Event> first(std::size_t most) const {
        return {events_.data() + head_, std::min(most, events_.size() - head_)};
    }

  private:
    std::vector<Event> events_; ///< those before head_ were taken
    std::size_t head_ = 0;
};

/// @brief Events of one node, taken out window by window. Most come in the order of their times and cost no
/// more than going through them.
class NodeEvents {
  public:
    void push(const Event &event) {
        if (in_order_.empty() || !before(event, in_order_.back())) {
            in_order_.push(event);
        } else if (loose_.size() < most_loose) {
            loose_.push_back(event);
            loose_next_ = std::min(loose_next_, event.time);
        } else {
            others_.push(event);
        }
    }

    std::int64_t next() const noexcept {
        return std::min({in_order_.next(), loose_next_, others_.top().time});
    }

    /// @param[out] out all before `horizon`, in order; at first empty
    void take(std::int64_t horizon, std::vector<Event> &out) {
        while (in_order_.next() < horizon)
            out.push_back(in_order_.pop());
        if (loose_next_ < horizon)
            take_loose(horizon, out);
        while (others_.top().time < horizon)
            out.push_back(others_.pop());
        sort_few(out);
    }

    /// @brief Bring what is coming into the cache, then call with it.
    void fetch() const {
        if (!in_order_.empty())
            __builtin_prefetch(&in_order_.front());
        __builtin_prefetch(loose_.data());
    }
    template <class Call> void for_coming(const Call &call) const {
        for (const Event &event : in_order_.first(48))
            call(event);
        for (const Event &event : loose_)
            call(event);
        for (const Event &event : others_.near_top(16))
            call(event);
    }

    /// @brief Change all events in a way that leaves them in order.
    template <class Change> void change(const Change &to) {
        in_order_.change(to);
        for (Event &event : loose_)
            to(event);
        others_.change(to);
    }

  private:
    static constexpr std::size_t most_loose = 128;

    void take_loose(std::int64_t horizon, std::vector<Event> &out) {
        std::size_t later = 0;
        loose_next_ = never_happens.time;
        for (const Event &event : loose_)
            if (event.time < horizon) {
                out.push_back(event);
            } else {
                loose_next_ = std::min(loose_next_, event.time);
                loose_[later++] = event;
            }
        loose_.resize(later);
    }

    EventFifo in_order_;
    std::vector<Event> loose_; ///< few, in no order
    std::int64_t loose_next_ = never_happens.time;
    EventQueue others_;
};

} // namespace rankwise::replay
