// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

#include "replay/engine.hpp"

// What an Engine does with a message: from its sender's processor over link, interfaces and interrupt core to
// its receive.

namespace rankwise::replay {

template <Order order> const MessageCost &Engine<order>::cost_of_send(std::uint32_t send) {
    const MatchedOperation &matched = steps_[send];
    return costs_.of(placement_.link(matched.rank, matched.peer), matched);
}
template <Order order> const MessageCost &Engine<order>::cost_of_receive(std::uint32_t receive) {
    const MatchedOperation &matched = steps_[receive];
    return costs_.of(placement_.link(matched.peer, matched.rank), matched);
}

// Request and answer of a rendezvous

template <Order order> void Engine<order>::request(std::uint32_t receive) {
    progress_.bits(receive) |= is_requested;
    if (progress_.has(receive, Progress::begun))
        clear_to_send(receive);
}

/// Request and receive are there: the receiver answers, when it is inside MPI.
template <Order order> void Engine<order>::clear_to_send(std::uint32_t receive) {
    if (cost_of_receive(receive).in_call)
        queue_job(receive, Job::clear);
    else
        answer(receive);
}

template <Order order> void Engine<order>::answer(std::uint32_t receive) {
    const std::uint32_t send = steps_[receive].partner;
    at_rank(steps_[receive].peer, now_ + control_time(send, cost_of_receive(receive)), clear_arrives, send,
            send);
}

template <Order order> void Engine<order>::clear(std::uint32_t send) {
    const MessageCost &cost = cost_of_send(send);
    if (cost.in_call)
        return queue_job(send, Job::data);
    const bool has_job = cost.on_core > 0;
    enter_link(send, cost);
    if (has_job)
        queue_job(send, Job::data);
    else
        finish_send(send, core_is_done);
}

/// @return how long a request or an answer travels
template <Order order>
Picoseconds Engine<order>::control_time(std::uint32_t send, const MessageCost &cost) const {
    if constexpr (by_time)
        return replay::control_time(machine_, placement_, cost, steps_[send].rank, steps_[send].peer);
    return cost.control;
}

// Leaving the sender

/// A rank's messages keep their gap; where the core moves the bytes, it is its own gap.
template <Order order> void Engine<order>::enter_link(std::uint32_t send, const MessageCost &cost) {
    if constexpr (by_time)
        if (resources_.paths.has(cost))
            return begin_way(send, cost);
    if (!cost.overlap) {
        tell([&](Observer &o) { o.hand_to_link(send, now_, now_); });
        return leave_link(send, cost);
    }
    const MatchedOperation &matched = steps_[send];
    Processor &p = processors_[std::size_t{matched.rank} * lanes() + (by_time ? matched.lane.nic : 0)];
    if constexpr (!by_time)
        if (nexts_[p.slot].link_free <= now_)
            free_link(matched.rank, now_ + 1); // only the first one's time is kept
    const Picoseconds start = std::max(now_, p.link);
    p.link = start + cost.gap;
    tell([&](Observer &o) { o.hand_to_link(send, now_, start); });
    if (start == now_)
        leave_link(send, cost);
    else
        wait_for_link(send, start);
}

template <Order order> void Engine<order>::wait_for_link(std::uint32_t send, Picoseconds start) {
    if (by_time || ahead_.core_and_link) // it may be in the list of those that are ready
        return at(start, enters_link, send, send);
    Processor &p = processors_[steps_[send].rank];
    if (p.on_link.empty())
        nexts_[p.slot].link_free = start;
    p.on_link.append(progress_, send);
}

/// The messages that a rank's link is free for before a time, where ranks are served one by one.
template <Order order> void Engine<order>::free_link(std::uint32_t rank, Picoseconds before) {
    Processor &p = processors_[rank];
    Picoseconds &next = nexts_[p.slot].link_free;
    const Picoseconds now = now_;
    const std::uint32_t served = served_;
    while (next < before) {
        now_ = next;
        latest_ = std::max(latest_, now_);
        const std::uint32_t send = p.on_link.take(progress_);
        served_ = order_of(enters_link, send);
        const MessageCost &cost = cost_of_send(send);
        next = p.on_link.empty() ? machine::never : now_ + cost.gap;
        leave_link(send, cost);
    }
    now_ = now;
    served_ = served;
}

/// The link is free for a message. Where ranks are served one by one, it passes the interface when all have
/// come so far.
template <Order order> void Engine<order>::leave_link(std::uint32_t send, const MessageCost &cost) {
    if (!by_time && cost.network)
        to_tx_.push_back({now_, served_, send});
    else
        enter_tx(send, cost);
}

/// The first byte leaves its rank.
template <Order order> void Engine<order>::enter_tx(std::uint32_t send, const MessageCost &cost) {
    const MatchedOperation &matched = steps_[send];
    const Picoseconds start =
        cost.network
            ? interfaces_.tx[interfaces_.of_rank[matched.rank]].pass(machine_.tx, cost.bytes, cost.tx, now_)
            : now_;
    const Picoseconds left = start + cost.span;
    tell([&](Observer &o) { o.pass_tx(send, matched.partner, start, start + cost.latency); });
    if (!cost.eager)
        at(left, data_left, send, send);
    if (!cost.network) {
        know_first_byte(matched.partner, start + cost.latency);
        if (!leaves_with_job(matched.rank, cost))
            at_rank(matched.peer, left + cost.latency, data_arrives, send, matched.partner);
    } else if (!passes_rx_early() || start < windows_.end()) {
        at_rank(matched.peer, start + cost.latency, enters_rx, send, matched.partner);
    } else {
        windows_.push_leaving(queue_, {start, order_of(enters_link, send), send});
    }
}

/// What begins to pass tx in this window goes to its node.
template <Order order> void Engine<order>::send_off() {
    windows_.take_leaving(queue_, [this](const Event &event) {
        const MatchedOperation &matched = steps_[event.what];
        at_rank(matched.peer, event.time + cost_of_send(event.what).latency, enters_rx, event.what,
                matched.partner);
    });
}

// Reaching the receiver

/// The first byte is at the interface of the receiver's node or, behind it, at the node's interrupt core.
template <Order order> void Engine<order>::enter_rx(const Event &event, std::uint32_t size_class) {
    const std::uint32_t send = event.order & operation_mask, receive = event.what;
    const MessageCost &cost = size_class == MatchedOperation::no_class
                                  ? cost_of_receive(receive)
                                  : costs_.of(placement_.network_link, size_class);
    if constexpr (by_time)
        if (cost.interrupts && states_.last_byte[receive].is_through_rx)
            return interrupt(send, receive, cost);
    const std::uint32_t interface = by_time || interfaces_.of_node > 1
                                        ? interfaces_.of_rank[steps_[receive].rank]
                                        : queue_; // its MatchedOperation need not be looked at
    const Picoseconds start = interfaces_.pass_rx(interface, machine_.rx, cost.bytes, cost.rx, now_);
    tell([&](Observer &o) { o.pass_rx(receive, start); });
    know_first_byte(receive, start);
    leave_rx(send, receive, cost, start, std::max(now_ + cost.span, start + cost.rx));
}

/// The first byte begins to pass the receiver's interface at `start`.
template <Order order>
void Engine<order>::leave_rx(std::uint32_t send, std::uint32_t receive, const MessageCost &cost,
                             Picoseconds start, Picoseconds last_byte) {
    if constexpr (by_time)
        if (cost.interrupts) {
            LastByte &held = states_.last_byte[receive];
            held.is_through_rx = true;
            held.through_rx = last_byte;
            if (start > now_)
                at(start, enters_rx, send, receive);
            else
                interrupt(send, receive, cost);
            return;
        }
    at(last_byte, passes_rx_early() && last_byte == now_ ? enters_rx : data_arrives, send, receive);
}

/// The interrupt core of the receiver's node deals with a message.
template <Order order>
void Engine<order>::interrupt(std::uint32_t send, std::uint32_t receive, const MessageCost &cost) {
    const InterruptCores::Job work = interrupt_for(receive, cost.bytes, true);
    know_first_byte(receive, work.begin);
    at(std::max(states_.last_byte[receive].through_rx, work.end), data_arrives, send, receive);
}

/// @return when the interrupt core of the receiver's node deals with a message, or with a part of one
template <Order order>
InterruptCores::Job Engine<order>::interrupt_for(std::uint32_t receive, std::uint64_t bytes, bool first) {
    InterruptCores &cores = resources_.interrupts;
    const std::uint32_t core = cores.of_node(placement_.node[steps_[receive].rank]);
    const InterruptCores::Job work = cores.serve(now_, core, bytes, first);
    if (work.begins_work) {
        at(work.end, core_rests, core, core);
        if (const std::uint32_t processor = cores.processor(core); processor != machine::Placement::none)
            resources_.rates.interrupt(processor, true);
    }
    return work;
}

template <Order order> void Engine<order>::rest(std::uint32_t core) {
    InterruptCores &cores = resources_.interrupts;
    if (const Picoseconds done = cores.done(core); done > now_)
        return at(done, core_rests, core, core);
    cores.rest(now_, core);
    if (const std::uint32_t processor = cores.processor(core); processor != machine::Placement::none)
        resources_.rates.interrupt(processor, false);
}

/// What a receiver's core has left from here on is for this message too.
template <Order order> void Engine<order>::know_first_byte(std::uint32_t receive, Picoseconds time) {
    if (states_.first_byte.empty())
        return;
    states_.first_byte[receive] = time;
    if constexpr (by_time)
        if (!states_.idle_at_first_byte.empty() && steps_[receive].lane.cpu == 0)
            if (IdleCapacity *const idle = resources_.rates.idle_capacity(steps_[receive].rank))
                states_.idle_at_first_byte[receive] = idle->until(now_);
}

/// @param[in] idle how long the receiver had nothing else to do since the first byte came
/// @return how much of a message's bytes it has dealt with by then
template <Order order>
Picoseconds Engine<order>::done_while_idle(std::uint32_t receive, Picoseconds bytes, Picoseconds idle) {
    const Picoseconds most = std::clamp<Picoseconds>(idle, 0, bytes);
    IdleCapacity *const capacity =
        steps_[receive].lane.cpu == 0 ? resources_.rates.idle_capacity(steps_[receive].rank) : nullptr;
    return capacity == nullptr ? most : capacity->take(now_, states_.idle_at_first_byte[receive], most);
}

/// @return whether a message's bytes leave as a job of its sender copies them, which others can slow down
template <Order order>
bool Engine<order>::leaves_with_job(std::uint32_t sender, const MessageCost &cost) const {
    if constexpr (by_time)
        return !cost.overlap && cost.on_core > 0 && (cost.eager || cost.in_call) &&
               (!is_plain_ || resources_.rates.shares_core(sender));
    return false;
}

/// The last byte is there, or the sender's job that copied it would let it be: what comes later decides.
template <Order order> void Engine<order>::last_byte_arrives(std::uint32_t receive) {
    if (!states_.last_byte.empty()) {
        const MessageCost &cost = cost_of_receive(receive);
        if (cost.network && leaves_with_job(steps_[receive].peer, cost) &&
            !std::exchange(states_.last_byte[receive].one_is_over, true))
            return;
    }
    arrive(receive);
}

template <Order order> void Engine<order>::arrive(std::uint32_t receive) {
    progress_.bits(receive) |= is_arrived;
    tell([&](Observer &o) { o.arrive(receive, now_); });
    if (progress_.has(receive, Progress::begun))
        queue_job(receive, Job::receive);
}

template <Order order> void Engine<order>::post(std::uint32_t receive) {
    begin(receive);
    tell([&](Observer &o) { o.post(receive); });
    if constexpr (by_time)
        if (resources_.paths.has_buffers())
            give_parts(receive);
    if (progress_.has(receive, is_arrived))
        queue_job(receive, Job::receive);
    else if (progress_.has(receive, is_requested))
        clear_to_send(receive);
}

} // namespace rankwise::replay
