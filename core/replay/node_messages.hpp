// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "replay/node_rank.hpp"
#include "replay/node_windows.hpp"

namespace rankwise::replay {

/// @brief What the replay by node does with messages, from the request of a rendezvous to the last byte.
/// @tparam Replay that it is a base of
template <class Replay> struct NodeMessages {
    void request(std::uint32_t receive) {
        self().progress_.bits(receive) |= is_requested;
        if (self().progress_.has(receive, Progress::begun))
            clear_to_send(receive);
    }

    /// Request and receive are there: the receiver answers, when it is inside MPI.
    void clear_to_send(std::uint32_t receive) {
        if (self().cost_of_receive(receive).in_call)
            self().jobs().queue_job(self().steps_[receive].rank, receive, Job::clear);
        else
            answer(receive);
    }

    void answer(std::uint32_t receive) {
        const Step &step = self().steps_[receive];
        self().at_rank(step.peer, self().now_ + self().cost_of_receive(receive).control, clear_arrives,
                       step.partner, step.partner);
    }

    void clear(std::uint32_t send) {
        const MessageCost &cost = self().cost_of_send(send);
        const std::uint32_t rank = self().steps_[send].rank;
        if (cost.in_call) {
            self().jobs().queue_job(rank, send, Job::data);
            return;
        }
        enter_link(send, cost, self().ranks_[rank]);
        if (cost.on_core > 0)
            self().jobs().queue_job(rank, send, Job::data);
        else
            finish_send(send, core_is_done);
    }

    /// A rank's messages keep their gap; where the core moves the bytes, it is its own gap.
    void enter_link(std::uint32_t send, const MessageCost &cost, NodeRank &r) {
        if (!cost.overlap) {
            to_interface(send, cost);
            return;
        }
        if (self().nexts_[r.slot].link_free <= self().now_)
            free_link(self().steps_[send].rank, self().now_ + 1); // only the first one's time is kept
        const Picoseconds start = std::max(self().now_, r.link);
        r.link = start + cost.gap;
        if (start == self().now_) {
            to_interface(send, cost);
        } else if (self().ahead_.core_and_link) {
            self().at(start, enters_link, send, send); // it may be in the list of those that are ready
        } else {
            if (r.on_link.empty())
                self().nexts_[r.slot].link_free = start;
            r.on_link.append(self().progress_, send);
        }
    }

    /// The messages that a rank's link is free for before a time.
    void free_link(std::uint32_t rank, Picoseconds before) {
        NodeRank &r = self().ranks_[rank];
        Picoseconds &next = self().nexts_[r.slot].link_free;
        const auto now = std::pair(self().now_, self().served_);
        while (next < before) {
            self().now_ = next;
            const std::uint32_t send = r.on_link.take(self().progress_);
            self().served_ = enters_link << phase_shift | send;
            const MessageCost &cost = self().cost_of_send(send);
            next = r.on_link.empty() ? machine::never : self().now_ + cost.gap;
            to_interface(send, cost);
        }
        std::tie(self().now_, self().served_) = now;
    }

    /// The link is free for a message. If it passes the interface, that is done when all ranks have come so
    /// far.
    void to_interface(std::uint32_t send, const MessageCost &cost) {
        if (cost.network)
            self().to_tx_.push_back({self().now_, self().served_, send});
        else
            leave_rank(send, cost);
    }

    /// The first byte leaves its rank.
    void leave_rank(std::uint32_t send, const MessageCost &cost) {
        const Step &step = self().steps_[send];
        const Picoseconds start =
            cost.network ? self().tx_[self().node_].pass(self().machine_.tx, cost.bytes, cost.tx, self().now_)
                         : self().now_;
        if (!cost.eager)
            self().at(start + cost.span, data_left, send, send);
        if (!cost.network) {
            if (self().core_moves_bytes_)
                self().first_byte_[step.partner] = start + cost.latency;
            self().at_rank(step.peer, start + cost.span + cost.latency, data_arrives, send, step.partner);
        } else if (start < self().windows_.end() && self().windows_[self().node_].leaving.empty()) {
            self().at_rank(step.peer, start + cost.latency, enters_rx, send, step.partner);
        } else {
            self().windows_[self().node_].leaving.push({start, 0, send});
        }
    }

    /// What begins to pass tx in this window goes to its node.
    void send_off() {
        EventFifo &leaving = self().windows_[self().node_].leaving;
        while (leaving.next() < self().windows_.end()) {
            const Event event = leaving.pop();
            const Step &step = self().steps_[event.what];
            self().at_rank(step.peer, event.time + self().cost_of_send(event.what).latency, enters_rx,
                           event.what, step.partner);
        }
    }

    void enter_rx(const Arrival &event) {
        const std::uint32_t receive = event.what;
        const MessageCost &cost = event.size_class == Step::no_class
                                      ? self().cost_of_receive(receive)
                                      : self().costs_.of(self().placement_.network_link, event.size_class);
        const Picoseconds start =
            self().rx_[self().node_].pass(self().machine_.rx, cost.bytes, cost.rx, self().now_);
        if (self().core_moves_bytes_)
            self().first_byte_[receive] = start;
        const Picoseconds arrives = std::max(self().now_ + cost.span, start + cost.rx);
        self().at(arrives, arrives == self().now_ ? enters_rx : data_arrives, event.order & operation_mask,
                  receive);
    }

    void arrive(std::uint32_t receive) {
        self().progress_.bits(receive) |= is_arrived;
        if (self().progress_.has(receive, Progress::begun))
            self().jobs().queue_job(self().steps_[receive].rank, receive, Job::receive);
    }

    void post(std::uint32_t rank, std::uint32_t receive) {
        self().progress_.begin(receive);
        if (self().progress_.has(receive, is_arrived))
            self().jobs().queue_job(rank, receive, Job::receive);
        else if (self().progress_.has(receive, is_requested))
            clear_to_send(receive);
    }

    /// A rendezvous send ends when its last byte has left and its processor has done its part.
    void finish_send(std::uint32_t send, std::uint32_t part) {
        const std::uint32_t bits = self().progress_.bits(send) |= part;
        if ((bits & (has_left | core_is_done)) == (has_left | core_is_done))
            self().end(send, self().ranks_[self().steps_[send].rank]);
    }

  private:
    Replay &self() { return static_cast<Replay &>(*this); }
};

} // namespace rankwise::replay
