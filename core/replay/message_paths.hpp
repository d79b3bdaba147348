// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "replay/message_costs.hpp"
#include "replay/message_flow.hpp"
#include "replay/passage.hpp"
#include "replay/schedule.hpp"

namespace rankwise::replay {

/// What one part of a message costs; the parts of a message add up to what it costs whole.
struct PartCost {
    std::uint64_t bytes;
    Picoseconds span; ///< from its first byte leaving the rank to the next part's
    Picoseconds gap;  ///< how long the rank's link is taken
    Picoseconds tx, rx;
};

/// @brief What messages pass beyond the interfaces of their nodes: switch ports (formats/loggops.md M11).
class MessagePaths {
  public:
    MessagePaths(const Schedule &schedule, const machine::Machine &machine, const machine::Layout &layout)
        : machine_(machine), layout_(layout), flows_(in_use() ? schedule.operations.size() : 0),
          ports_(machine.network.ports()) {}

    /// Whether a message goes by its flow, and not the short way.
    bool has(const MessageCost &cost) const { return cost.network && !machine_.network.empty(); }

    /// @brief A message that is to leave its rank.
    Flow &begin(std::uint32_t send, std::uint32_t from, std::uint32_t to, const MessageCost &cost) {
        Flow &flow = flows_.add(send);
        flow.way.clear();
        if (cost.network)
            machine_.network.way(layout_.node[from], layout_.node[to], flow.way);
        flow.part = cost.bytes;
        flow.parts = 1;
        flow.handed_over = 0;
        flow.link = 0;
        flow.passed.assign(flow.rx() + 2, 0);
        flow.last_byte.assign(flow.parts, 0);
        return flow;
    }
    bool is_under_way(std::uint32_t send) const noexcept { return flows_.has(send); }
    Flow &of(std::uint32_t send) noexcept { return flows_.of(send); }
    void end(std::uint32_t send) { flows_.remove(send); }

    PartCost part_cost(const MessageCost &cost, const Flow &flow, std::uint32_t k) const {
        if (flow.parts == 1)
            return {cost.bytes, cost.span, cost.gap, cost.tx, cost.rx};
        const std::uint64_t begin = flow.begin(k), end = flow.end(k, cost.bytes);
        const machine::Segment &s = machine_.link_classes[cost.link].segment(cost.bytes);
        const auto between = [&](const machine::Interface &of) {
            return k == 0 ? of.time(end) : of.time(end) - of.time(begin);
        };
        const Picoseconds span =
            machine::Segment::per_byte(end, s.G) - (k == 0 ? 0 : machine::Segment::per_byte(begin, s.G));
        return {end - begin, span, span + (k + 1 == flow.parts ? s.g : 0), between(machine_.tx),
                between(machine_.rx)};
    }

    /// @brief A part of a message reaches a port of its way.
    /// @return when its first byte is at the next stage
    Picoseconds pass_port(Flow &flow, std::size_t stage, std::uint32_t k, const MessageCost &cost,
                          Picoseconds now) {
        const std::uint32_t port = flow.way[stage - 1];
        const machine::Network &network = machine_.network;
        const machine::Interface &interface = network.cost[network.kind_of(port)];
        const std::uint64_t begin = flow.begin(k), end = flow.end(k, cost.bytes);
        const Picoseconds time = k == 0 ? interface.time(end) : interface.time(end) - interface.time(begin);
        const Picoseconds start = ports_[port].pass(interface, end - begin, time, now, k == 0);
        flow.last_byte[k] = std::max(flow.last_byte[k], start + time) + network.hop;
        return start + network.hop;
    }

    const std::vector<Passage> &ports() const noexcept { return ports_; }

  private:
    bool in_use() const { return !machine_.network.empty(); }

    const machine::Machine &machine_;
    const machine::Layout &layout_;
    Flows flows_;
    std::vector<Passage> ports_;
};

} // namespace rankwise::replay
