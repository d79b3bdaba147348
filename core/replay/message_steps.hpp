// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "replay/machine_events.hpp"
#include "replay/message_costs.hpp"
#include "replay/more_resources.hpp"
#include "replay/progress.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does with messages, from the request of a rendezvous to the
/// last byte.
template <class Engine> struct MessageSteps {
    using More = typename Engine::MoreType;

    Engine &e;

    void request(std::uint32_t receive) {
        e.progress_.bits(receive) |= is_requested;
        if (e.progress_.has(receive, Progress::begun))
            clear_to_send(receive);
    }

    /// Request and receive are there: the receiver answers, when it is inside MPI.
    void clear_to_send(std::uint32_t receive) {
        if (e.cost_of_receive(receive).in_call)
            e.jobs().queue_job(receive, Job::clear);
        else
            answer(receive);
    }

    void answer(std::uint32_t receive) {
        const std::uint32_t send = e.steps_[receive].partner;
        e.at(e.now_ + control(send, e.cost_of_receive(receive)), clear_arrives, send, send);
    }

    void clear(std::uint32_t send) {
        const MessageCost &cost = e.cost_of_send(send);
        if (cost.in_call) {
            e.jobs().queue_job(send, Job::data);
            return;
        }
        enter_link(send, cost);
        if (cost.on_core > 0)
            e.jobs().queue_job(send, Job::data);
        else
            finish_send(send, core_is_done);
    }

    /// How long a request or an answer travels.
    Picoseconds control(std::uint32_t send, const MessageCost &cost) const {
        if constexpr (More::any)
            return control_time(e.machine_, e.placement_, cost, e.steps_[send].rank, e.steps_[send].peer);
        return cost.control;
    }

    /// A rank's messages keep their gap; where the core moves the bytes, it is its own gap.
    void enter_link(std::uint32_t send, const MessageCost &cost) {
        if constexpr (More::any)
            if (e.more_.paths.has(cost)) {
                e.paths().begin(send, cost);
                return;
            }
        if (!cost.overlap) {
            e.recorder_.sent(send, e.now_, e.now_);
            enter_tx(send, cost);
            return;
        }
        Picoseconds &free =
            e.processors_[std::size_t{e.steps_[send].rank} * e.lanes_ + e.steps_[send].lane.nic].link;
        const Picoseconds start = std::max(e.now_, free);
        free = start + cost.gap;
        e.recorder_.sent(send, e.now_, start);
        if (start > e.now_)
            e.at(start, enters_link, send, send);
        else
            enter_tx(send, cost);
    }

    /// The first byte leaves its rank.
    void enter_tx(std::uint32_t send, const MessageCost &cost) {
        const Step &step = e.steps_[send];
        const Picoseconds start = cost.network ? e.tx_[e.placement_.node[e.steps_[send].rank]].pass(
                                                     e.machine_.tx, cost.bytes, cost.tx, e.now_)
                                               : e.now_;
        const Picoseconds left = start + cost.span;
        e.recorder_.on_tx(send, step.partner, start, start + cost.latency);
        if (cost.network) {
            e.at(start + cost.latency, enters_rx, send, step.partner);
        } else {
            e.spare().know_first_byte(step.partner, start + cost.latency);
            if (!leaves_with_job(send, cost))
                e.at(left + cost.latency, data_arrives, send, step.partner);
        }
        if (!cost.eager)
            e.at(left, data_left, send, send);
    }

    void enter_rx(std::uint32_t send, std::uint32_t receive) {
        const MessageCost &cost = e.cost_of_receive(receive);
        if constexpr (More::any)
            if (e.steps().has_passed_rx(send, receive, cost))
                return;
        const Picoseconds start =
            e.rx_[e.placement_.node[e.steps_[receive].rank]].pass(e.machine_.rx, cost.bytes, cost.rx, e.now_);
        e.recorder_.on_rx(receive, start);
        e.spare().know_first_byte(receive, start);
        const Picoseconds last_byte = std::max(e.now_ + cost.span, start + cost.rx);
        if constexpr (More::any)
            e.steps().leave_rx(send, receive, cost, start, last_byte);
        else if (leaves_with_job(send, cost))
            know_last_byte(send, receive, cost, last_byte);
        else
            e.at(last_byte, data_arrives, send, receive);
    }

    /// @return whether a message's bytes leave as a job of its sender copies them, which others can slow down
    bool leaves_with_job(std::uint32_t send, const MessageCost &cost) const {
        return !e.last_byte_.empty() && !cost.overlap && cost.on_core > 0 && (cost.eager || cost.in_call) &&
               (More::any || e.shared_.of(e.steps_[send].rank) != any);
    }

    /// One of the things that hold up a message's last byte does so until `time`: its way, and the job that
    /// copies it.
    void know_last_byte(std::uint32_t send, std::uint32_t receive, const MessageCost &cost,
                        Picoseconds time) {
        LastByte &held = e.last_byte_[receive];
        held.time = std::max(held.time, time);
        const std::uint32_t things = cost.network && leaves_with_job(send, cost) ? 2 : 1;
        if (++held.known == things)
            e.at(held.time, data_arrives, send, receive);
    }

    void arrive(std::uint32_t receive) {
        e.progress_.bits(receive) |= is_arrived;
        e.recorder_.arrived(receive, e.now_);
        if (e.progress_.has(receive, Progress::begun))
            e.jobs().queue_job(receive, Job::receive);
    }

    void post(std::uint32_t receive) {
        e.begin(receive);
        e.recorder_.posted(receive);
        if constexpr (More::any)
            e.paths().posted(receive);
        if (e.progress_.has(receive, is_arrived))
            e.jobs().queue_job(receive, Job::receive);
        else if (e.progress_.has(receive, is_requested))
            clear_to_send(receive);
    }

    /// Buffers have room for all of an eager send that has not left.
    void let_go(std::uint32_t send) { finish_send(send, has_left); }

    /// A rendezvous send ends when its last byte has left and its processor has done its part.
    void finish_send(std::uint32_t send, std::uint32_t part) {
        e.progress_.bits(send) |= part;
        if (!has_left_entirely(send))
            return;
        if (!e.progress_.has(send, Progress::ended))
            return e.end(send);
        e.first_processor(e.steps_[send].rank).finish =
            e.now_; // it was let go before; the rank is not over till now
        e.recorder_.ended(send, e.now_);
    }

    bool has_left_entirely(std::uint32_t send) const {
        return (e.progress_.bits(send) & (has_left | core_is_done)) == (has_left | core_is_done);
    }
};

} // namespace rankwise::replay
