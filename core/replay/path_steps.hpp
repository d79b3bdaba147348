// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "replay/more_resources.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does with messages whose way is more than two interfaces:
/// switch ports and buffers, M11 and M12 of formats/loggops.md.
///
/// @tparam Engine whose `More` is MoreResources
template <class Engine> struct PathSteps {
    using Phase = typename Engine::PhaseType;
    using Job = typename Engine::JobType;
    using Processor = typename Engine::ProcessorType;

    Engine &e;

    /// @brief An event of a message that is under way: the next part of it goes on.
    /// @return whether the event was one of its way
    bool serve(std::uint32_t phase, std::uint32_t send, std::uint32_t what) {
        if (phase != Phase::data_arrives && phase != Phase::enters_rx && phase != Phase::enters_link)
            return false;
        if (!e.more_.paths.is_under_way(send))
            return false;
        if (phase == Phase::data_arrives)
            part_arrives(send, what);
        else if (phase == Phase::enters_rx)
            enter_next(send, what);
        else
            leave_rank(send);
        return true;
    }

    // The way ----------------------------------------------------------------------------------------------

    /// A message that is to leave its rank.
    void begin(std::uint32_t send, const MessageCost &cost) {
        Flow &flow = e.more_.paths.begin(send, e.steps_[send].rank, e.steps_[send].peer, cost);
        if (cost.buffered)
            accept(flow.connection);
        else
            hand_over(flow, cost);
    }

    /// The next part of a message goes to its rank's link.
    void hand_over(Flow &flow, const MessageCost &cost) {
        const Step &step = e.steps_[flow.send];
        const std::uint32_t k = flow.handed_over++;
        Picoseconds &link = e.processors_[std::size_t{step.rank} * e.lanes_ + step.lane.nic].link;
        Picoseconds &free = cost.overlap ? link : flow.link;
        const Picoseconds start = std::max(e.now_, free);
        free = start + e.more_.paths.part_cost(cost, flow, k).gap;
        if (k == 0)
            e.recorder_.sent(flow.send, e.now_, start);
        if (start > e.now_)
            e.at(start, Phase::enters_link, flow.send, flow.send);
        else
            leave_rank(flow.send);
    }

    /// The first byte of a message's next part leaves its rank.
    void leave_rank(std::uint32_t send) {
        const MessageCost &cost = e.cost_of_send(send);
        const Step &step = e.steps_[send];
        Flow &flow = e.more_.paths.of(send);
        const std::uint32_t k = flow.enter(0);
        const PartCost part = e.more_.paths.part_cost(cost, flow, k);
        Picoseconds start = e.now_, left = e.now_ + part.span;
        if (cost.network) {
            Passage &tx = e.tx_[e.placement_.node[step.rank]];
            start = tx.pass(e.machine_.tx, part.bytes, part.tx, e.now_, k == 0);
            // The first part sets the pace: the others' bytes come from the link while they wait.
            left = std::max((k == 0 ? start : e.now_) + part.span, start + part.tx);
        }
        flow.first_byte[k] = start + cost.latency;
        flow.last_byte[k] = left + cost.latency;
        if (k == 0)
            e.recorder_.on_tx(send, step.partner, start, flow.first_byte[k]);
        if (cost.network)
            e.at(flow.first_byte[k], Phase::enters_rx, send, 1);
        else
            e.at(flow.last_byte[k], Phase::data_arrives, send, step.partner);
        if (!cost.eager && k + 1 == flow.parts)
            e.at(left, Phase::data_left, send, send);
    }

    /// The first byte of a message's next part is at a switch port of its way or, behind them, at the
    /// receiver's node: its interface, then its interrupt core.
    void enter_next(std::uint32_t send, std::uint32_t stage) {
        const MessageCost &cost = e.cost_of_send(send);
        const std::uint32_t receive = e.steps_[send].partner;
        Flow &flow = e.more_.paths.of(send);
        const std::uint32_t k = flow.enter(stage);
        if (stage < flow.rx()) {
            const Picoseconds next = e.more_.paths.pass_port(flow, stage, k, e.now_);
            if (k == 0)
                e.recorder_.queued_at_port(receive, next - e.now_ - e.machine_.network.hop);
            e.at(next, Phase::enters_rx, send, stage + 1);
            return;
        }
        if (stage == flow.interrupt_core()) {
            const auto work = e.steps().serve_part(receive, flow.size(k), k == 0);
            flow.first_byte[k] = work.begin;
            e.at(std::max(flow.last_byte[k], work.end), Phase::data_arrives, send, receive);
            return;
        }
        const PartCost part = e.more_.paths.part_cost(cost, flow, k);
        Passage &rx = e.rx_[e.placement_.node[e.steps_[receive].rank]];
        const Picoseconds start = rx.pass(e.machine_.rx, part.bytes, part.rx, e.now_, k == 0);
        if (k == 0) {
            e.recorder_.at_rx(receive, e.now_);
            e.recorder_.on_rx(receive, start);
        }
        flow.first_byte[k] = start;
        flow.last_byte[k] = std::max(flow.last_byte[k], start + part.rx);
        if (!cost.buffered) {
            e.spare().know_first_byte(receive, start);
            const Picoseconds last_byte = flow.last_byte[k];
            e.more_.paths.end(send);
            e.steps().leave_rx(send, receive, cost, start, last_byte);
        } else if (cost.interrupts) {
            e.at(start, Phase::enters_rx, send, static_cast<std::uint32_t>(flow.interrupt_core()));
        } else {
            e.at(flow.last_byte[k], Phase::data_arrives, send, receive);
        }
    }

    // Buffers ----------------------------------------------------------------------------------------------

    /// The host takes what fits of a connection's messages, if their sender is inside MPI.
    /// @param[in] after the computation that has just ended there, `any` if it is inside MPI for longer
    void accept(std::uint32_t number, std::uint32_t after = any) {
        MessagePaths::Connection &connection = e.more_.paths.connection(number);
        while (!connection.waiting.empty()) {
            const std::uint32_t send = connection.waiting.front();
            Flow &flow = e.more_.paths.of(send);
            const MessageCost cost = e.cost_of_send(send);
            const std::uint64_t size = flow.size(flow.handed_over);
            if (is_computing(e.processor_of(send)) ||
                (connection.held > 0 && connection.held + size > link_of(cost).socket_buffer)) {
                if (!std::exchange(connection.is_pending, true))
                    e.more_.paths.at(e.processor_of(send)).pending.push_back(number);
                break;
            }
            connection.held += size;
            connection.taken += cost.eager ? size : 0;
            if (flow.handed_over + 1 == flow.parts)
                connection.waiting.pop_front();
            if (after != any)
                e.recorder_.resumed(send, after, e.now_);
            hand_over(flow, cost);
        }
        // An eager send ends when the library can hold what the host has not taken of it and those before.
        while (!connection.held_up.empty()) {
            const auto [send, up_to] = connection.held_up.front();
            if (up_to > connection.taken &&
                up_to - connection.taken > link_of(e.cost_of_send(send)).send_buffer)
                break;
            connection.held_up.pop_front();
            e.messages().let_go(send);
        }
    }

    const machine::LinkClass &link_of(const MessageCost &cost) const {
        return e.machine_.link_classes[cost.link];
    }

    /// Whether a rank is not inside MPI.
    bool is_computing(std::uint32_t processor) {
        const std::uint32_t op = e.processors_[processor].running;
        return op != any && !e.more_.paths.is_reading(processor) && e.job(op) == Job::calc &&
               e.steps_[op].time() > 0;
    }

    /// A computation has ended: what its rank has to send goes on.
    void is_back(std::uint32_t processor, std::uint32_t after) {
        for (const std::uint32_t number : std::exchange(e.more_.paths.at(processor).pending, {})) {
            e.more_.paths.connection(number).is_pending = false;
            accept(number, after);
        }
    }

    /// The last byte of a message's next part is at its receiver.
    void part_arrives(std::uint32_t send, std::uint32_t receive) {
        Flow &flow = e.more_.paths.of(send);
        const std::uint32_t k = flow.enter(flow.receiver()), processor = e.processor_of(receive);
        e.more_.paths.at(processor).arrived.push_back({send, k});
        if (e.processors_[processor].running == any)
            read(processor);
    }

    /// A processor without a job reads the next part that has come. @return whether there is one
    bool read(std::uint32_t processor) {
        MessagePaths::AtProcessor &at = e.more_.paths.at(processor);
        const auto next = std::find_if(at.arrived.begin(), at.arrived.end(),
                                       [&](const MessagePaths::Part &part) { return can_read(part); });
        if (next == at.arrived.end())
            return false;
        at.reading = *next;
        at.arrived.erase(next);
        Processor &p = e.processors_[processor];
        const std::uint32_t receive = e.steps_[at.reading.send].partner;
        const MessageCost &cost = e.cost_of_receive(receive);
        const Flow &flow = e.more_.paths.of(at.reading.send);
        const Picoseconds bytes = e.more_.at_receiver(
            e.steps_[receive].rank, cost, e.more_.paths.part_cost(cost, flow, at.reading.number).on_core);
        const Picoseconds idle = e.now_ - std::max(flow.first_byte[at.reading.number], p.idle_since);
        p.running = receive;
        p.overhead += bytes;
        e.recorder_.reads(processor, receive, p.idle_since, e.now_);
        e.jobs().run_for(processor, std::max<Picoseconds>(0, bytes - std::max<Picoseconds>(0, idle)));
        return true;
    }

    bool can_read(const MessagePaths::Part &part) {
        const std::uint32_t receive = e.steps_[part.send].partner;
        if (e.progress_.has(receive, Progress::begun))
            return true;
        const Flow &flow = e.more_.paths.of(part.send);
        const std::uint64_t limit = link_of(e.cost_of_receive(receive)).unexpected_buffer;
        return limit == machine::LinkClass::unlimited ||
               e.more_.paths.connection(flow.connection).kept + flow.size(part.number) <= limit;
    }

    /// The job of a processor has ended. @return whether that was to read a part
    bool has_read(std::uint32_t processor) {
        if (!e.more_.paths.is_reading(processor))
            return false;
        const MessagePaths::Part part =
            std::exchange(e.more_.paths.at(processor).reading, MessagePaths::Part{any, 0});
        const std::uint32_t receive = e.steps_[part.send].partner;
        const bool is_posted = e.progress_.has(receive, Progress::begun);
        Flow &flow = e.more_.paths.of(part.send);
        const std::uint32_t number = flow.connection;
        MessagePaths::Connection &connection = e.more_.paths.connection(number);
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
                e.more_.paths.end(part.send);
        }
        accept(number);
        if (is_whole)
            e.messages().arrive(receive);
        e.processors_[processor].running = any;
        return true;
    }

    /// A receive is posted: the library gives what it kept of its message, and reads on.
    void posted(std::uint32_t receive) {
        const std::uint32_t send = e.steps_[receive].partner;
        if (!e.more_.paths.has_buffers() || !e.more_.paths.is_under_way(send))
            return;
        Flow &flow = e.more_.paths.of(send);
        if (flow.connection == any)
            return;
        e.more_.paths.connection(flow.connection).kept -= std::exchange(flow.kept, 0);
        if (flow.read == flow.parts)
            e.more_.paths.end(send);
        const std::uint32_t first = e.steps_[receive].rank * e.lanes_;
        for (std::uint32_t processor = first; processor < first + e.cpus_; ++processor)
            if (e.processors_[processor].running == any)
                read(processor);
    }
};

} // namespace rankwise::replay
