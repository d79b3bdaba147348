// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

#include "replay/engine.hpp"

// What an Engine does with messages whose way is more than two interfaces, part by part: switch ports and
// buffers, M11 and M12 of formats/loggops.md.

namespace rankwise::replay {

/// @brief An event of a message that is under way: the next part of it goes on.
/// @return whether the event was one of its way
template <Order order> bool Engine<order>::serve_part(Phase phase, std::uint32_t send, std::uint32_t what) {
    if (phase != data_arrives && phase != enters_rx && phase != enters_link)
        return false;
    if (!resources_.paths.is_under_way(send))
        return false;
    if (phase == enters_rx)
        part_enters(send, what);
    else if (phase == enters_link)
        part_leaves(send);
    else if (resources_.paths.of(send).connection != any)
        part_arrives(send, what);
    else
        return false; // the job that copies it is over, the message is not there yet
    return true;
}

// The way

/// A message that is to leave its rank.
template <Order order> void Engine<order>::begin_way(std::uint32_t send, const MessageCost &cost) {
    Flow &flow = resources_.paths.begin(send, steps_[send].rank, steps_[send].peer, cost);
    if (cost.buffered)
        fill_buffers(flow.connection);
    else
        hand_over(flow, cost);
}

/// The next part of a message goes to its rank's link.
template <Order order> void Engine<order>::hand_over(Flow &flow, const MessageCost &cost) {
    const MatchedOperation &matched = steps_[flow.send];
    const std::uint32_t k = flow.handed_over++;
    Picoseconds &link = processors_[std::size_t{matched.rank} * lanes_ + matched.lane.nic].link;
    Picoseconds &free = cost.overlap ? link : flow.link;
    const Picoseconds start = std::max(now_, free);
    free = start + resources_.paths.part_cost(cost, flow, k).gap;
    if (k == 0)
        tell([&](Observer &o) { o.hand_to_link(flow.send, now_, start); });
    if (start > now_)
        at(start, enters_link, flow.send, flow.send);
    else
        part_leaves(flow.send);
}

/// The first byte of a message's next part leaves its rank.
template <Order order> void Engine<order>::part_leaves(std::uint32_t send) {
    const MessageCost &cost = cost_of_send(send);
    const MatchedOperation &matched = steps_[send];
    Flow &flow = resources_.paths.of(send);
    if (cost.striped)
        return stripes_leave(flow, cost);
    const std::uint32_t k = flow.enter(0);
    const PartCost part = resources_.paths.part_cost(cost, flow, k);
    Picoseconds start = now_, left = now_ + part.span;
    if (cost.network) {
        Passage &tx = interfaces_.tx[interfaces_.of_rank[matched.rank]];
        start = tx.pass(machine_.tx, part.bytes, part.tx, now_, k == 0);
        // The first part sets the pace: the others' bytes come from the link while they wait.
        left = std::max((k == 0 ? start : now_) + part.span, start + part.tx);
    }
    flow.first_byte[k] = start + cost.latency;
    flow.last_byte[k] = left + cost.latency;
    if (k == 0)
        tell([&](Observer &o) { o.pass_tx(send, matched.partner, start, flow.first_byte[k]); });
    if (cost.network)
        at(flow.first_byte[k], enters_rx, send, 1);
    else
        at(flow.last_byte[k], data_arrives, send, matched.partner);
    if (!cost.eager && k + 1 == flow.parts)
        at(left, data_left, send, send);
}

/// The first bytes of all parts of a striped message leave its rank; those that leave earlier are first on
/// their further way.
template <Order order> void Engine<order>::stripes_leave(Flow &flow, const MessageCost &cost) {
    const std::uint32_t send = flow.send;
    const MatchedOperation &matched = steps_[send];
    const std::uint32_t own = interfaces_.of_rank[matched.rank];
    std::vector<std::pair<Picoseconds, std::uint32_t>> starts;
    starts.reserve(flow.parts);
    for (std::uint32_t part = 0; part < flow.parts; ++part) {
        Passage &tx = interfaces_.tx[machine_.interface_of_part(own, part)];
        starts.emplace_back(tx.pass(machine_.tx, flow.stripe_bytes(part), cost.tx, now_), part);
    }
    std::sort(starts.begin(), starts.end());
    for (std::uint32_t k = 0; k < flow.parts; ++k) {
        flow.stripe[k] = starts[k].second;
        flow.first_byte[k] = starts[k].first + cost.latency;
        flow.last_byte[k] = flow.first_byte[k] + cost.span;
        at(flow.first_byte[k], enters_rx, send, 1);
    }
    const Picoseconds last = starts.back().first;
    tell([&](Observer &o) { o.pass_tx(send, matched.partner, last, last + cost.latency); });
    if (!cost.eager)
        at(last + cost.span, data_left, send, send);
}

/// The first byte of a part of a striped message is at the receiver's node.
template <Order order>
void Engine<order>::stripe_enters_rx(Flow &flow, const MessageCost &cost, std::uint32_t k) {
    const std::uint32_t send = flow.send, receive = steps_[send].partner, part = flow.stripe[k];
    const std::uint32_t own = interfaces_.of_rank[steps_[receive].rank];
    const Picoseconds start = interfaces_.pass_rx(machine_.interface_of_part(own, part), machine_.rx,
                                                  flow.stripe_bytes(part), cost.rx, now_);
    const Picoseconds last_byte = std::max(flow.last_byte[k], start + cost.rx);
    if (k == 0)
        know_first_byte(receive, start);
    if (k == 0 || last_byte > flow.last_stripe) {
        flow.last_stripe = last_byte;
        tell([&](Observer &o) {
            o.reach_rx(receive, now_);
            o.pass_rx(receive, start);
        });
    }
    if (k + 1 < flow.parts)
        return;
    const Picoseconds last = flow.last_stripe;
    resources_.paths.end(send);
    leave_rx(send, receive, cost, start, last);
}

/// The first byte of a message's next part is at a switch port of its way or, behind them, at the receiver's
/// node: its interface, then its interrupt core.
template <Order order> void Engine<order>::part_enters(std::uint32_t send, std::uint32_t stage) {
    const MessageCost &cost = cost_of_send(send);
    const std::uint32_t receive = steps_[send].partner;
    Flow &flow = resources_.paths.of(send);
    const std::uint32_t k = flow.enter(stage);
    if (stage < flow.rx()) {
        const Picoseconds next = resources_.paths.pass_port(flow, stage, k, cost.striped, now_);
        if (k == 0)
            tell([&](Observer &o) { o.wait_at_port(receive, next - now_ - machine_.network.hop); });
        return at(next, enters_rx, send, stage + 1);
    }
    if (stage == flow.interrupt_core()) {
        const InterruptCores::Job work = interrupt_for(receive, flow.size(k), k == 0);
        flow.first_byte[k] = work.begin;
        return at(std::max(flow.last_byte[k], work.end), data_arrives, send, receive);
    }
    if (cost.striped)
        return stripe_enters_rx(flow, cost, k);
    const PartCost part = resources_.paths.part_cost(cost, flow, k);
    const Picoseconds start = interfaces_.pass_rx(interfaces_.of_rank[steps_[receive].rank], machine_.rx,
                                                  part.bytes, part.rx, now_, k == 0);
    if (k == 0)
        tell([&](Observer &o) {
            o.reach_rx(receive, now_);
            o.pass_rx(receive, start);
        });
    flow.first_byte[k] = start;
    flow.last_byte[k] = std::max(flow.last_byte[k], start + part.rx);
    if (!cost.buffered) {
        know_first_byte(receive, start);
        const Picoseconds last_byte = flow.last_byte[k];
        resources_.paths.end(send);
        leave_rx(send, receive, cost, start, last_byte);
    } else if (cost.interrupts) {
        at(start, enters_rx, send, static_cast<std::uint32_t>(flow.interrupt_core()));
    } else {
        at(flow.last_byte[k], data_arrives, send, receive);
    }
}

// Buffers

/// The host takes what fits of a connection's messages, if their sender is inside MPI.
/// @param[in] after the computation that has just ended there, `any` if it is inside MPI for longer
template <Order order> void Engine<order>::fill_buffers(std::uint32_t number, std::uint32_t after) {
    MessagePaths::Connection &connection = resources_.paths.connection(number);
    while (!connection.waiting.empty()) {
        const std::uint32_t send = connection.waiting.front();
        Flow &flow = resources_.paths.of(send);
        const MessageCost cost = cost_of_send(send);
        const std::uint64_t size = flow.size(flow.handed_over);
        if (is_computing(processor_of(send)) ||
            (connection.held > 0 && connection.held + size > link_of(cost).socket_buffer)) {
            if (!std::exchange(connection.is_pending, true))
                resources_.paths.at(processor_of(send)).pending.push_back(number);
            break;
        }
        connection.held += size;
        connection.taken += cost.eager ? size : 0;
        if (flow.handed_over + 1 == flow.parts)
            connection.waiting.pop_front();
        if (after != any)
            tell([&](Observer &o) { o.resume(send, after, now_); });
        hand_over(flow, cost);
    }
    // An eager send ends when the library can hold what the host has not taken of it and those before.
    while (!connection.held_up.empty()) {
        const auto [send, up_to] = connection.held_up.front();
        if (up_to > connection.taken && up_to - connection.taken > link_of(cost_of_send(send)).send_buffer)
            break;
        connection.held_up.pop_front();
        finish_send(send, has_left);
    }
}

/// Whether a rank is not inside MPI.
template <Order order> bool Engine<order>::is_computing(std::uint32_t processor) const {
    const std::uint32_t op = processors_[processor].running;
    return op != any && !resources_.paths.is_reading(processor) && job(op) == Job::calc &&
           steps_[op].time() > 0;
}

/// A computation has ended: what its rank has to send goes on.
template <Order order> void Engine<order>::come_back(std::uint32_t processor, std::uint32_t after) {
    for (const std::uint32_t number : std::exchange(resources_.paths.at(processor).pending, {})) {
        resources_.paths.connection(number).is_pending = false;
        fill_buffers(number, after);
    }
}

/// The last byte of a message's next part is at its receiver.
template <Order order> void Engine<order>::part_arrives(std::uint32_t send, std::uint32_t receive) {
    Flow &flow = resources_.paths.of(send);
    const std::uint32_t k = flow.enter(flow.receiver()), processor = processor_of(receive);
    resources_.paths.at(processor).arrived.push_back({send, k});
    if (processors_[processor].running == any)
        read_part(processor);
}

/// A processor without a job reads the next part that has come. @return whether there is one
template <Order order> bool Engine<order>::read_part(std::uint32_t processor) {
    MessagePaths::AtProcessor &there = resources_.paths.at(processor);
    const auto next = std::find_if(there.arrived.begin(), there.arrived.end(),
                                   [&](const MessagePaths::Part &part) { return can_read(part); });
    if (next == there.arrived.end())
        return false;
    there.reading = *next;
    there.arrived.erase(next);
    Processor &p = processors_[processor];
    const std::uint32_t receive = steps_[there.reading.send].partner;
    const MessageCost &cost = cost_of_receive(receive);
    const Flow &flow = resources_.paths.of(there.reading.send);
    const Picoseconds bytes = resources_.interrupts.at_receiver(
        steps_[receive].rank, cost, resources_.paths.part_cost(cost, flow, there.reading.number).on_core);
    const Picoseconds idle = now_ - std::max(flow.first_byte[there.reading.number], p.idle_since);
    p.running = receive;
    p.overhead += bytes;
    tell([&](Observer &o) { o.read_part(processor, receive, p.idle_since, now_); });
    run_for(processor, std::max<Picoseconds>(0, bytes - std::max<Picoseconds>(0, idle)));
    return true;
}

template <Order order> bool Engine<order>::can_read(const MessagePaths::Part &part) {
    const std::uint32_t receive = steps_[part.send].partner;
    if (progress_.has(receive, Progress::begun))
        return true;
    const Flow &flow = resources_.paths.of(part.send);
    const std::uint64_t limit = link_of(cost_of_receive(receive)).unexpected_buffer;
    return limit == machine::LinkClass::unlimited ||
           resources_.paths.connection(flow.connection).kept + flow.size(part.number) <= limit;
}

/// The job of a processor has ended. @return whether that was to read a part
template <Order order> bool Engine<order>::has_read(std::uint32_t processor) {
    if (!resources_.paths.is_reading(processor))
        return false;
    const MessagePaths::Part part =
        std::exchange(resources_.paths.at(processor).reading, MessagePaths::Part{any, 0});
    const std::uint32_t receive = steps_[part.send].partner;
    const bool is_posted = progress_.has(receive, Progress::begun);
    Flow &flow = resources_.paths.of(part.send);
    const std::uint32_t number = flow.connection;
    MessagePaths::Connection &connection = resources_.paths.connection(number);
    const std::uint64_t size = flow.size(part.number);
    connection.held -= size;
    if (!is_posted) {
        connection.kept += size;
        flow.kept += size;
    }
    const bool is_whole = ++flow.read == flow.parts;
    if (is_whole) {
        connection.unread.erase(std::find(connection.unread.begin(), connection.unread.end(), part.send));
        if (is_posted)
            resources_.paths.end(part.send);
    }
    fill_buffers(number);
    if (is_whole)
        arrive(receive);
    processors_[processor].running = any;
    return true;
}

/// A receive is posted: the library gives what it kept of its message, and reads on.
template <Order order> void Engine<order>::give_parts(std::uint32_t receive) {
    const std::uint32_t send = steps_[receive].partner;
    if (send == any || !resources_.paths.is_under_way(send))
        return;
    Flow &flow = resources_.paths.of(send);
    if (flow.connection == any)
        return;
    resources_.paths.connection(flow.connection).kept -= std::exchange(flow.kept, 0);
    if (flow.read == flow.parts)
        resources_.paths.end(send);
    const std::uint32_t first = steps_[receive].rank * lanes_;
    for (std::uint32_t processor = first; processor < first + cpus_; ++processor)
        if (processors_[processor].running == any)
            read_part(processor);
}

} // namespace rankwise::replay
