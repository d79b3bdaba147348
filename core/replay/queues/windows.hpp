// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/queues/event.hpp"
#include "replay/queues/node_events.hpp"

namespace rankwise::replay {

/// An event of a message that comes from another queue.
struct Arrival : Event {
    std::uint32_t size_class; ///< as of its MatchedOperation, which need not be looked at
};

/// What one queue's nodes have before them.
template <class Events> struct alignas(64) NodeQueue {
    Events events;                    ///< at its ranks
    EventFifo leaving;                ///< messages by the time at which they begin to pass its only tx
    std::vector<Arrival> from_others; ///< what other queues sent here, in no order
};

/// @brief Queues of events that are served in windows of time, one after the other.
///
/// What a node does comes to others a latency later at the earliest. So all that happens within that latency
/// after the earliest event of all can be done node by node, whose ranks are in the cache then (conservative
/// windows; Nicol: The cost of conservative synchronization in parallel discrete event simulations, JACM
/// 1993).
///
/// @tparam Events of one queue
template <class Events> class Windows {
  public:
    /// @param[in] latency least until ranks notice what ranks of other queues do; more than 0
    /// @param[in] passing the last part of it, for first bytes at an interface: from then to when a rank
    /// notices
    /// @param[in] several whether messages of one queue begin to pass different interfaces
    Windows(std::size_t queues, std::int64_t latency, std::int64_t passing, bool several)
        : latency_(latency), passing_(passing), queues_(queues), leaving_(several ? queues : 0),
          next_(queues, never_happens.time), group_next_((queues + group - 1) / group, never_happens.time) {}

    NodeQueue<Events> &operator[](std::uint32_t queue) { return queues_[queue]; }
    std::int64_t end() const noexcept { return end_; } ///< of the window

    /// @return when the next thing happens, the end of time if none does
    std::int64_t earliest() const { return *std::min_element(group_next_.begin(), group_next_.end()); }

    /// @brief Go on to the window that begins with the earliest event of all.
    /// @return the queues in which something happens
    std::span<const std::uint32_t> open(std::int64_t begin) {
        due_.clear();
        end_ = begin > never_happens.time - latency_ ? never_happens.time : begin + latency_;
        for (std::size_t g = 0; g < group_next_.size(); ++g)
            if (group_next_[g] < end_)
                look_through(g);
        return due_;
    }

    /// @return what came from other queues and happens in this window, in order; it is taken
    std::span<const Arrival> take_from_others(std::uint32_t queue) {
        taken_.clear();
        std::vector<Arrival> &from = queues_[queue].from_others;
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

    /// @brief A message of a queue begins to pass an interface after this window.
    void push_leaving(std::uint32_t queue, const Event &event) {
        if (leaving_.empty())
            queues_[queue].leaving.push(event);
        else
            leaving_[queue].push(event);
    }
    /// @brief Call with the messages of a queue that begin to pass an interface in this window, in order.
    template <class Call> void take_leaving(std::uint32_t queue, const Call &call) {
        if (leaving_.empty())
            while (queues_[queue].leaving.next() < end_)
                call(queues_[queue].leaving.pop());
        else
            while (leaving_[queue].next() < end_)
                call(leaving_[queue].pop());
    }

    /// @brief The queue has done what there was in this window.
    /// @param[in] next when its ranks go on, its events aside
    void leave(std::uint32_t queue, std::int64_t next) {
        next = std::min({next, queues_[queue].events.next(), queues_[queue].leaving.next()});
        if (!leaving_.empty())
            next = std::min(next, leaving_[queue].next());
        for (const Event &event : queues_[queue].from_others)
            next = std::min(next, noticed(event));
        next_[queue] = next;
        group_next_[queue / group] = std::min(group_next_[queue / group], next);
    }

    /// @brief Something that comes to a queue from another one, after this window.
    void push_from_other(std::uint32_t queue, const Arrival &event) {
        queues_[queue].from_others.push_back(event);
        next_[queue] = std::min(next_[queue], noticed(event));
        group_next_[queue / group] = std::min(group_next_[queue / group], noticed(event));
    }

    /// @return when a rank may notice it
    std::int64_t noticed(const Event &event) const noexcept {
        return event.time + (phase_of(event.order) == enters_rx ? passing_ : 0);
    }

    /// @brief Bring a queue into the cache, then its events.
    void fetch(std::uint32_t queue) const {
        for (std::size_t line = 0; line < sizeof(NodeQueue<Events>); line += 64)
            __builtin_prefetch(reinterpret_cast<const char *>(&queues_[queue]) + line);
    }
    void fetch_events(std::uint32_t queue) const {
        for (std::size_t k = 0; k < queues_[queue].from_others.size(); k += 4)
            __builtin_prefetch(queues_[queue].from_others.data() + k);
        queues_[queue].events.fetch();
    }
    template <class Call> void for_coming(std::uint32_t queue, const Call &call) const {
        for (const Event &event : queues_[queue].from_others)
            if (noticed(event) < end_)
                call(event);
        queues_[queue].events.for_coming(call);
        for (const Event &event : queues_[queue].leaving.first(24))
            call(event);
    }

    /// @brief Change all events in a way that leaves them in order.
    template <class Change> void change(const Change &to) {
        for (EventQueue &queue : leaving_)
            queue.change(to);
        for (NodeQueue<Events> &queue : queues_) {
            queue.events.change(to);
            queue.leaving.change(to);
            for (Event &event : queue.from_others)
                to(event);
        }
    }

  private:
    static constexpr std::size_t group = 64;

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

    std::int64_t latency_, passing_, end_ = 0;
    std::vector<NodeQueue<Events>> queues_;
    std::vector<EventQueue>
        leaving_; ///< of each queue, instead of its `leaving`; empty: one interface a queue
    std::vector<std::int64_t> next_;       ///< of each queue: when it has something to do
    std::vector<std::int64_t> group_next_; ///< of each so many queues: not after any of theirs
    std::vector<std::uint32_t> due_;
    std::vector<Arrival> taken_;
};

} // namespace rankwise::replay
