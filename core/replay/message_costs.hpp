// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "schedule/matched_operation.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// What a message of one size costs on one link class: formats/loggops.md, "Costs".
struct MessageCost {
    std::uint64_t message = 0; ///< as of `MatchedOperation::message`
    std::uint64_t bytes = 0;
    std::uint32_t link = ~std::uint32_t{0};
    bool eager = true;
    bool in_call = false;
    bool overlap = true;
    bool buffered = false; ///< goes in parts through buffers that can be full
    bool network = false;
    bool interrupts = false;
    bool striped = false; ///< passes several interfaces of its nodes at once, a part of its bytes each
    machine::Picoseconds o_send = 0;
    machine::Picoseconds o_receive = 0;
    machine::Picoseconds connect = 0; ///< more than o at a rank's first message with another one
    machine::Picoseconds on_core = 0; ///< B: processor time of the bytes
    machine::Picoseconds gap = 0;     ///< g + (s-1) G: how long the rank's link is taken
    machine::Picoseconds latency = 0; ///< of the data: L, less request and answer of a rendezvous
    machine::Picoseconds control = 0; ///< c: one way of a rendezvous' request or answer
    machine::Picoseconds tx = 0;      ///< how long each interface that it passes is taken
    machine::Picoseconds rx = 0;
    machine::Picoseconds span =
        0; ///< from the first byte leaving to the last one leaving, once it is its turn
};

/// @return the most bytes that an interface has of a message that is cut over so many
inline std::uint64_t stripe_of(std::uint64_t bytes, std::uint32_t interfaces) {
    return (bytes + interfaces - 1) / interfaces;
}

/// @return latency of the switches after the first between two ranks of different nodes
inline machine::Picoseconds hop_time(const machine::Network &network, const machine::Placement &placement,
                                     std::uint32_t from, std::uint32_t to) {
    return network.hop == 0 ? 0 : network.hop * network.hops(placement.node[from], placement.node[to]);
}

/// @return how long a request or an answer of a rendezvous travels: c, and the switches
inline machine::Picoseconds control_time(const machine::Machine &machine, const machine::Placement &placement,
                                         const MessageCost &cost, std::uint32_t from, std::uint32_t to) {
    const bool switches = cost.network && machine.handshake;
    return cost.control + (switches ? hop_time(machine.network, placement, from, to) : 0);
}

/// @brief Costs by link class and size, worked out when a size comes up first; few sizes make up most
/// programs.
class MessageCosts {
  public:
    explicit MessageCosts(const machine::Machine &machine) : machine_(machine) {}

    /// @param[in] message as of `MatchedOperation::message`
    const MessageCost &get(std::uint8_t link, std::uint64_t message) {
        MessageCost &entry = kept_[((message * 0x9E3779B97F4A7C15u >> 40) ^ link) % kept_.size()];
        if (entry.message != message || entry.link != link)
            entry = work_out(link, message);
        return entry;
    }

    /// A small message's latency, and at most a third of the whole, so that request, answer and data together
    /// take the L that was measured for messages of this size.
    machine::Picoseconds control(const machine::LinkClass &l, const machine::Segment &s) const {
        return machine_.handshake ? std::min(l.segments.front().L, s.L / 3) : 0;
    }

    /// @param[in] message as of `MatchedOperation::message`
    MessageCost work_out(std::uint8_t link, std::uint64_t message) const {
        const std::uint64_t bytes = message & Operation::size_mask;
        const machine::LinkClass &l = machine_.link_classes[link];
        const machine::Segment &s = l.segment(bytes);
        MessageCost cost;
        cost.message = message;
        cost.bytes = bytes;
        cost.link = link;
        cost.eager = message == bytes && bytes <= l.eager_limit;
        cost.in_call = machine_.progress && l.in_call;
        cost.overlap = l.overlap;
        cost.buffered = cost.in_call && l.overlap && l.socket_buffer != machine::LinkClass::unlimited;
        cost.network = l.network;
        cost.interrupts = l.interrupts;
        cost.o_send = s.o_send;
        cost.o_receive = s.o_receive;
        cost.connect = l.connect;
        cost.on_core = machine::Segment::per_byte(bytes, l.core_per_byte(s));
        cost.span = l.overlap ? machine::Segment::per_byte(bytes, s.G) : cost.on_core;
        cost.gap = s.g + cost.span;
        const machine::Picoseconds c = control(l, s);
        cost.control = c == 0 ? 0 : c + l.detour;
        cost.latency = (cost.eager ? s.L : s.L - 2 * c) + l.detour;
        if (l.network) {
            cost.striped = machine_.stripes(l, bytes) && !cost.buffered;
            const std::uint64_t each = cost.striped ? stripe_of(bytes, machine_.striped_over) : bytes;
            cost.tx = machine_.tx.time(each);
            cost.rx = machine_.rx.time(each);
            cost.span = std::max(cost.span, cost.tx);
        }
        return cost;
    }

  private:
    const machine::Machine &machine_;
    std::array<MessageCost, 64> kept_{};
};

/// @brief Costs of the sizes that a schedule has, worked out before.
class CostTable {
  public:
    /// @param[in] sizes as of `Matching::sizes`
    CostTable(const machine::Machine &machine, const std::vector<std::uint64_t> &sizes)
        : others_(machine), sizes_(sizes.size()) {
        for (std::size_t link = 0; link < machine.link_classes.size(); ++link)
            for (const std::uint64_t message : sizes)
                costs_.push_back(others_.work_out(static_cast<std::uint8_t>(link), message));
    }

    const MessageCost &of(std::uint8_t link, const MatchedOperation &matched) {
        if (matched.size_class == MatchedOperation::no_class)
            return others_.get(link, matched.message());
        return of(link, matched.size_class);
    }
    const MessageCost &of(std::uint8_t link, std::size_t size_class) const {
        return costs_[link * sizes_ + size_class];
    }

  private:
    MessageCosts others_;
    std::size_t sizes_;
    std::vector<MessageCost> costs_;
};

} // namespace rankwise::replay
