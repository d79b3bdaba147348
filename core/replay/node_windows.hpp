// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/event_queue.hpp"

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

/// An event of a message that comes from another node.
struct Arrival : Event {
    std::uint32_t size_class; ///< as of its Step, which need not be looked at
};

/// What one node has before it.
struct alignas(64) NodeQueue {
    NodeEvents events;                ///< at its ranks
    EventFifo leaving;                ///< messages by the time at which they begin to pass tx
    std::vector<Arrival> from_others; ///< what other nodes sent here, in no order
};

/// @brief The nodes in windows of time, node after node.
///
/// What a node does comes to others a latency later at the earliest. So all that happens within that latency
/// after the earliest event of all can be done node by node, whose ranks are in the cache then (conservative
/// windows; Nicol: The cost of conservative synchronization in parallel discrete event simulations, JACM
/// 1993).
class NodeWindows {
  public:
    static constexpr std::uint32_t phase_shift = 29, early_phase = 1; ///< of `Event::order`

    /// @param[in] latency least until ranks notice what ranks of other nodes do; more than 0
    /// @param[in] passing the last part of it, for events of the early phase: from their time to when a rank
    /// notices
    NodeWindows(std::size_t nodes, std::int64_t latency, std::int64_t passing)
        : latency_(latency), passing_(passing), end_(latency), nodes_(nodes),
          next_(nodes, never_happens.time), group_next_((nodes + group - 1) / group, never_happens.time) {}

    NodeQueue &operator[](std::uint32_t node) { return nodes_[node]; }
    std::int64_t end() const noexcept { return end_; } ///< of the window

    /// @brief Go on to the next window.
    /// @return the nodes in which something happens, none at the end
    std::span<const std::uint32_t> next() {
        due_.clear();
        const std::int64_t begin = *std::min_element(group_next_.begin(), group_next_.end());
        if (begin == never_happens.time)
            return {};
        end_ = begin + latency_;
        for (std::size_t g = 0; g < group_next_.size(); ++g)
            if (group_next_[g] < end_)
                look_through(g);
        return due_;
    }

    /// @return what came from other nodes and happens in this window, in order; it is taken
    std::span<const Arrival> take_from_others(std::uint32_t node) {
        taken_.clear();
        std::vector<Arrival> &from = nodes_[node].from_others;
        std::size_t later = 0;
        for (const Arrival &event : from)
            if (noticed(event) < end_)
                taken_.push_back(event);
            else
                from[later++] = event;
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(later), from.end());
        sort_few(taken_);
        return taken_;
    }

    /// @brief The node has done what there was in this window.
    /// @param[in] next when its ranks go on
    void leave(std::uint32_t node, std::int64_t next) {
        next = std::min({next, nodes_[node].events.next(), nodes_[node].leaving.next()});
        for (const Event &event : nodes_[node].from_others)
            next = std::min(next, noticed(event));
        next_[node] = next;
        group_next_[node / group] = std::min(group_next_[node / group], next);
    }

    /// @brief Something that comes to a node from another one, after this window.
    void push_from_other(std::uint32_t node, const Arrival &event) {
        nodes_[node].from_others.push_back(event);
        next_[node] = std::min(next_[node], noticed(event));
        group_next_[node / group] = std::min(group_next_[node / group], noticed(event));
    }

    /// @brief Bring a node into the cache, then its events.
    void fetch(std::uint32_t node) const {
        for (std::size_t line = 0; line < sizeof(NodeQueue); line += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(&nodes_[node]) + line);
    }
    void fetch_events(std::uint32_t node) const {
        for (std::size_t k = 0; k < nodes_[node].from_others.size(); k += 4)
            __builtin_prefetch(nodes_[node].from_others.data() + k);
        nodes_[node].events.fetch();
    }
    template <class Call> void for_coming(std::uint32_t node, const Call &call) const {
        for (const Event &event : nodes_[node].from_others)
            if (noticed(event) < end_)
                call(event);
        nodes_[node].events.for_coming(call);
        for (const Event &event : nodes_[node].leaving.first(24))
            call(event);
    }

  private:
    static constexpr std::size_t group = 64;

    /// When a rank may notice it.
    std::int64_t noticed(const Event &event) const noexcept {
        return event.time + (event.order >> phase_shift == early_phase ? passing_ : 0);
    }

    void look_through(std::size_t g) {
        const std::size_t end = std::min((g + 1) * group, next_.size());
        std::int64_t rest = never_happens.time;
        for (std::size_t n = g * group; n < end; ++n)
            if (next_[n] < end_)
                due_.push_back(static_cast<std::uint32_t>(n));
            else
                rest = std::min(rest, next_[n]);
        group_next_[g] = rest;
    }

    std::int64_t latency_, passing_, end_;
    std::vector<NodeQueue> nodes_;
    std::vector<std::int64_t> next_;       ///< of each node: when it has something to do
    std::vector<std::int64_t> group_next_; ///< of each so many nodes: not after any of theirs
    std::vector<std::uint32_t> due_;
    std::vector<Arrival> taken_;
};

} // namespace rankwise::replay
