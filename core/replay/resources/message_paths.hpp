// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/message_costs.hpp"
#include "replay/resources/interfaces.hpp"
#include "replay/resources/message_flow.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::replay {

/// What one part of a message costs; the parts of a message add up to what it costs whole.
struct PartCost {
    std::uint64_t bytes;
    Picoseconds span; ///< from its first byte leaving the rank to the next part's
    Picoseconds gap;  ///< how long the rank's link is taken
    Picoseconds tx, rx;
    Picoseconds on_core; ///< at the receiver
};

/// @brief What messages pass beyond the interfaces of their nodes: switch ports, and buffers that can be full
/// (formats/loggops.md M11, M12).
class MessagePaths {
  public:
    /// An ordered pair of ranks whose messages go through buffers.
    struct Connection {
        std::uint64_t held = 0; ///< bytes that the host has taken and the receiver has not read
        std::uint64_t kept = 0; ///< bytes that were read for receives that are not posted
        std::uint64_t offered = 0,
                      taken = 0;           ///< bytes of eager sends that have begun, and that the host took
        std::deque<std::uint32_t> waiting; ///< sends of which not all parts have been taken
        /// Eager sends that have not ended because of full buffers, with `offered` as of each.
        std::deque<std::pair<std::uint32_t, std::uint64_t>> held_up;
        std::deque<std::uint32_t> unread; ///< sends of which not all parts have been read, in their order
        bool is_pending = false;          ///< in `pending` of its sender's processor
    };
    /// A part that is at its receiver.
    struct Part {
        std::uint32_t send, number;
    };
    /// What a processor has to do with parts.
    struct AtProcessor {
        std::deque<Part> arrived; ///< not read yet
        Part reading{any, 0};
        std::vector<std::uint32_t> pending; ///< connections with something to send, by when they had
    };

    /// @param[in] processors of all ranks
    MessagePaths(const Schedule &schedule, const machine::Machine &machine,
                 const machine::Placement &placement, std::size_t processors)
        : machine_(machine), placement_(placement), stripes_(machine.striped_over > 1),
          flows_(machine.has_buffers() || !machine.network.empty() || stripes_ ? schedule.operations.size()
                                                                               : 0),
          ports_(machine.network.ports()), at_processors_(machine.has_buffers() ? processors : 0) {}

    /// Whether any message goes by its flow.
    bool exist() const noexcept { return !ports_.empty() || has_buffers() || stripes_; }
    /// Whether a message goes by its flow, and not the short way.
    bool has(const MessageCost &cost) const {
        return cost.buffered || cost.striped || (cost.network && !machine_.network.empty());
    }

    /// @brief A message that is to leave its rank.
    Flow &begin(std::uint32_t send, std::uint32_t from, std::uint32_t to, const MessageCost &cost) {
        Flow &flow = flows_.add(send);
        flow.way.clear();
        if (cost.network && !machine_.network.empty())
            machine_.network.way(placement_.node[from], placement_.node[to], flow.way);
        flow.start(send, cost.bytes, part_bytes(cost));
        if (cost.striped)
            flow.cut_over(machine_.striped_over);
        if (cost.buffered) {
            const std::uint64_t pair = std::uint64_t{from} << 32 | to;
            const auto [found, is_new] =
                connection_of_.emplace(pair, static_cast<std::uint32_t>(connections_.size()));
            if (is_new)
                connections_.emplace_back();
            flow.connection = found->second;
            Connection &connection = connections_[flow.connection];
            connection.waiting.push_back(send);
            connection.unread.push_back(send);
            if (cost.eager)
                connection.held_up.emplace_back(send, connection.offered += cost.bytes);
        }
        return flow;
    }
    bool is_under_way(std::uint32_t send) const noexcept { return flows_.has(send); }
    Flow &of(std::uint32_t send) noexcept { return flows_.of(send); }
    void end(std::uint32_t send) { flows_.remove(send); }

    bool has_buffers() const noexcept { return !at_processors_.empty(); }
    Connection &connection(std::uint32_t number) noexcept { return connections_[number]; }
    AtProcessor &at(std::uint32_t processor) noexcept { return at_processors_[processor]; }
    bool is_reading(std::uint32_t processor) const noexcept {
        return has_buffers() && at_processors_[processor].reading.send != any;
    }

    PartCost part_cost(const MessageCost &cost, const Flow &flow, std::uint32_t k) const {
        if (flow.parts == 1 || cost.striped)
            return {cost.bytes, cost.span, cost.gap, cost.tx, cost.rx, cost.on_core};
        const std::uint64_t begin = flow.begin(k), end = flow.end(k);
        const machine::LinkClass &link = machine_.link_classes[cost.link];
        const machine::Segment &s = link.segment(cost.bytes);
        const auto per_byte = [&](double each) {
            return machine::Segment::per_byte(end, each) -
                   (k == 0 ? 0 : machine::Segment::per_byte(begin, each));
        };
        const auto passing = [&](const machine::Interface &of) {
            return !cost.network ? 0 : k == 0 ? of.time(end) : of.time(end) - of.time(begin);
        };
        const Picoseconds span = per_byte(s.G);
        return {end - begin,
                span,
                span + (k + 1 == flow.parts ? s.g : 0),
                passing(machine_.tx),
                passing(machine_.rx),
                per_byte(link.core_per_byte(s))};
    }

    /// @brief A part of a message reaches a port of its way.
    /// @return when its first byte is at the next stage
    Picoseconds pass_port(Flow &flow, std::size_t stage, std::uint32_t k, bool striped, Picoseconds now) {
        const std::uint32_t port = flow.way[stage - 1];
        const machine::Network &network = machine_.network;
        const machine::Interface &interface = network.cost[network.kind_of(port)];
        const std::uint64_t begin = flow.begin(k), end = flow.end(k);
        const Picoseconds time = striped  ? interface.time(flow.part)
                                 : k == 0 ? interface.time(end)
                                          : interface.time(end) - interface.time(begin);
        const std::uint64_t bytes = striped ? flow.stripe_bytes(flow.stripe[k]) : end - begin;
        const Picoseconds start = ports_[port].pass(interface, bytes, time, now, k == 0 || striped);
        flow.last_byte[k] = std::max(flow.last_byte[k], start + time) + network.hop;
        return start + network.hop;
    }

    /// @brief Operations have other numbers, of which there are so many.
    void renumber(std::span<const std::uint32_t> now, std::size_t size) {
        flows_.renumber(now, size);
        for (Connection &connection : connections_) {
            for (std::uint32_t &send : connection.waiting)
                send = now[send];
            for (auto &[send, offered] : connection.held_up)
                send = now[send];
            for (std::uint32_t &send : connection.unread)
                send = now[send];
        }
        for (AtProcessor &at_processor : at_processors_) {
            for (Part &part : at_processor.arrived)
                part.send = now[part.send];
            if (at_processor.reading.send != any)
                at_processor.reading.send = now[at_processor.reading.send];
        }
    }

    const std::vector<Passage> &ports() const noexcept { return ports_; }

    /// @brief At a standstill: what waits behind a message that nobody receives waits for what that waits
    /// for.
    /// @param[in] steps of the replay
    /// @param[in] begun whether an operation has begun
    /// @return of such sends and their receives: that message's receive
    template <class Steps, class Begun>
    std::unordered_map<std::uint32_t, std::uint32_t> held_up(const Steps &steps, const Begun &begun) const {
        std::unordered_map<std::uint32_t, std::uint32_t> waits_for;
        for (const Connection &connection : connections_) {
            std::uint32_t first = any;
            for (const std::uint32_t send : connection.unread)
                if (first != any)
                    waits_for[send] = waits_for[steps[send].partner] = first;
                else if (!begun(steps[send].partner))
                    first = steps[send].partner;
        }
        return waits_for;
    }

  private:
    static constexpr std::uint64_t parts_of_a_buffer = 4, most_parts = 4096;

    std::uint64_t part_bytes(const MessageCost &cost) const {
        if (!cost.buffered)
            return cost.bytes;
        const std::uint64_t buffer = machine_.link_classes[cost.link].socket_buffer;
        return std::max({std::uint64_t{1}, buffer / parts_of_a_buffer, cost.bytes / most_parts});
    }

    const machine::Machine &machine_;
    const machine::Placement &placement_;
    bool stripes_; ///< messages that are large enough
    Flows flows_;
    std::vector<Passage> ports_;
    std::deque<Connection> connections_;
    std::unordered_map<std::uint64_t, std::uint32_t> connection_of_;
    std::vector<AtProcessor> at_processors_;
};

} // namespace rankwise::replay
