// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/more_resources.hpp"

namespace rankwise::replay {

/// @brief What the Engine of `replay_on_machine` does with messages whose way is more than two interfaces: M11
/// of formats/loggops.md.
///
/// @tparam Engine whose `More` is MoreResources
template <class Engine> struct PathSteps {
    using Phase = typename Engine::PhaseType;

    Engine &e;

    /// A message that is to leave its rank.
    void begin(std::uint32_t send, const MessageCost &cost) {
        e.more_.paths.begin(send, e.steps_[send].rank, e.steps_[send].peer, cost);
        hand_over(send, cost);
    }

    /// The next part of a message goes to its rank's link.
    void hand_over(std::uint32_t send, const MessageCost &cost) {
        Flow &flow = e.more_.paths.of(send);
        const Step &step = e.steps_[send];
        const std::uint32_t k = flow.handed_over++;
        Picoseconds &link = e.processors_[std::size_t{step.rank} * e.lanes_ + step.lane.nic].link;
        Picoseconds &free = cost.overlap ? link : flow.link;
        const Picoseconds start = std::max(e.now_, free);
        free = start + e.more_.paths.part_cost(cost, flow, k).gap;
        if (k == 0)
            e.recorder_.sent(send, e.now_, start);
        if (start > e.now_)
            e.at(start, Phase::enters_link, send, send);
        else
            leave_rank(send);
    }

    /// The first byte of a message's next part leaves its rank.
    void leave_rank(std::uint32_t send) {
        const MessageCost &cost = e.cost_of_send(send);
        const Step &step = e.steps_[send];
        Flow &flow = e.more_.paths.of(send);
        const std::uint32_t k = flow.enter(0);
        const PartCost part = e.more_.paths.part_cost(cost, flow, k);
        Passage &tx = e.tx_[e.layout_.node[step.rank]];
        const Picoseconds start = tx.pass(e.machine_.tx, part.bytes, part.tx, e.now_, k == 0);
        // The first part sets the pace: the others' bytes come from the link while they wait.
        const Picoseconds left = std::max((k == 0 ? start : e.now_) + part.span, start + part.tx);
        const Picoseconds first_byte = start + cost.latency;
        flow.last_byte[k] = left + cost.latency;
        if (k == 0)
            e.recorder_.on_tx(send, step.partner, start, first_byte);
        e.at(first_byte, Phase::enters_rx, send, 1);
        if (!cost.eager && k + 1 == flow.parts)
            e.at(left, Phase::data_left, send, send);
    }

    /// The first byte of a message's next part is at a switch port of its way or, behind them, at the receiver's
    /// node.
    void enter_next(std::uint32_t send, std::uint32_t stage) {
        const MessageCost &cost = e.cost_of_send(send);
        const std::uint32_t receive = e.steps_[send].partner;
        Flow &flow = e.more_.paths.of(send);
        const std::uint32_t k = flow.enter(stage);
        if (stage < flow.rx()) {
            const Picoseconds next = e.more_.paths.pass_port(flow, stage, k, cost, e.now_);
            if (k == 0)
                e.recorder_.queued_at_port(receive, next - e.now_ - e.machine_.network.hop);
            e.at(next, Phase::enters_rx, send, stage + 1);
            return;
        }
        const PartCost part = e.more_.paths.part_cost(cost, flow, k);
        Passage &rx = e.rx_[e.layout_.node[e.steps_[receive].rank]];
        const Picoseconds start = rx.pass(e.machine_.rx, part.bytes, part.rx, e.now_, k == 0);
        if (k == 0) {
            e.recorder_.at_rx(receive, e.now_);
            e.recorder_.on_rx(receive, start);
            if (!e.first_byte_.empty())
                e.first_byte_[receive] = start;
        }
        const Picoseconds last_byte = std::max(flow.last_byte[k], start + part.rx);
        e.more_.paths.end(send);
        e.steps().leave_rx(send, receive, cost, start, last_byte);
    }
};

} // namespace rankwise::replay
