// SPDX-License-Identifier: BSD-3-Clause
#include "replay/lookahead.hpp"

#include <algorithm>
#include <numeric>

#include "replay/message_costs.hpp"

namespace rankwise::replay {
namespace {

using machine::LinkClass;
using machine::Machine;
using machine::Placement;
using machine::Segment;

/// The least that messages take on one link class.
struct Least {
    Picoseconds first_byte = machine::never; ///< from leaving to arriving
    Picoseconds passing = machine::never;    ///< from the first byte to the last, at each interface too
    Picoseconds control = machine::never;    ///< request or answer of a rendezvous
    Picoseconds sending = machine::never; ///< of a rendezvous: from its first byte to when its send may end

    void take(const Least &other) {
        first_byte = std::min(first_byte, other.first_byte);
        passing = std::min(passing, other.passing);
        control = std::min(control, other.control);
        sending = std::min(sending, other.sending);
    }
};

Least least_on(const LinkClass &l, const MessageRange &messages, const Machine &machine) {
    const MessageCosts costs(machine);
    // No limit is the largest number, which stays so.
    const std::uint64_t beyond_eager = std::max(l.eager_limit, l.eager_limit + 1);
    const std::uint64_t rendezvous = std::min(messages.least_synchronous, beyond_eager);
    Least least;
    std::uint64_t from = 0;
    for (const Segment &s : l.segments) {
        if (from > messages.largest)
            break;
        const std::uint64_t smallest = std::max(messages.smallest, from);
        const Picoseconds span = Segment::per_byte(smallest, s.G);
        const Picoseconds interface =
            l.network ? std::max(machine.tx.time(smallest), machine.rx.time(smallest)) : 0;
        if (s.up_to_bytes >= smallest)
            least.take({.first_byte = s.L, .passing = std::max(span, interface)});
        if (s.up_to_bytes >= rendezvous && messages.largest >= rendezvous) {
            const Picoseconds control = costs.control(l, s);
            least.take({.first_byte = s.L - 2 * control,
                        .control = control,
                        .sending = Segment::per_byte(std::max(rendezvous, from), s.G)});
        }
        from = s.up_to_bytes + 1;
    }
    return least;
}

/// Nodes with something in common have one number.
class Together {
  public:
    explicit Together(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0u); }

    void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }

    /// @brief Number them in the order of their first nodes.
    void number(Lookahead &ahead) {
        std::vector<std::uint32_t> number(parent_.size(), any);
        ahead.queues = 0;
        for (std::uint32_t node = 0; node < parent_.size(); ++node) {
            std::uint32_t &queue = number[find(node)];
            if (queue == any)
                queue = ahead.queues++;
            ahead.queue_of_node[node] = queue;
        }
    }

  private:
    std::uint32_t find(std::uint32_t node) {
        while (parent_[node] != node)
            node = parent_[node] = parent_[parent_[node]];
        return node;
    }
    std::vector<std::uint32_t> parent_;
};

/// Joins the nodes that have the same of something.
class Same {
  public:
    explicit Same(Together &nodes) : nodes_(nodes) {}

    void note(std::uint32_t what, std::uint32_t node) {
        if (what == Placement::none)
            return;
        if (what >= first_.size())
            first_.resize(std::size_t{what} + 1, any);
        if (first_[what] == any)
            first_[what] = node;
        nodes_.join(node, first_[what]);
    }

  private:
    Together &nodes_;
    std::vector<std::uint32_t> first_; ///< node with it
};

std::vector<bool> shared_processors(const Machine &machine, const Placement &placement) {
    std::vector<std::uint32_t> users(placement.capacity.size());
    for (const std::uint32_t processor : placement.processor)
        ++users[processor];
    std::vector<bool> shared(users.size());
    for (std::size_t p = 0; p < users.size(); ++p)
        shared[p] = machine.core_sharing != machine::CoreSharing::none && users[p] > placement.capacity[p];
    return shared;
}

/// Nodes of an emulated machine can share the cores, memories and interrupt cores of their host.
void give_queues(const Machine &machine, const Placement &placement, std::vector<bool> shared,
                 Lookahead &ahead) {
    Together nodes(ahead.queue_of_node.size());
    Same cores(nodes), processors(nodes);
    for (std::uint32_t node = 0; machine.interrupts.exists && node < ahead.queue_of_node.size(); ++node) {
        cores.note(placement.interrupt_core[node], node);
        const std::uint32_t processor = placement.interrupt_processor[placement.interrupt_core[node]];
        processors.note(processor, node);
        if (processor != Placement::none)
            shared[processor] = true;
    }
    for (std::uint32_t r = 0; r < placement.node.size(); ++r)
        processors.note(shared[placement.processor[r]] ? placement.processor[r] : Placement::none,
                        placement.node[r]);
    for (const std::vector<std::uint32_t> &domain : placement.domain) {
        Same memories(nodes);
        for (std::uint32_t r = 0; r < domain.size(); ++r)
            memories.note(domain[r], placement.node[r]);
    }
    nodes.number(ahead);
}

} // namespace

Lookahead look_ahead(const Schedule &schedule, const MessageRange &messages, const Machine &machine,
                     const Placement &placement, bool one_order) {
    Lookahead ahead;
    ahead.queue_of_node.assign(placement.nodes(), 0);
    const LinkClass &link = machine.link_classes[placement.network_link];
    const std::vector<bool> shared = shared_processors(machine, placement);
    const bool any_core_is_shared = std::find(shared.begin(), shared.end(), true) != shared.end();
    // Where messages come without an interface to pass, their sender looks at the receiver's core.
    if (one_order || messages.smallest > messages.largest || !machine.network.empty() ||
        machine.has_buffers() || machine.stripes(link, messages.largest) || machine.half_duplex ||
        (any_core_is_shared && !link.network))
        return ahead;
    const Least network = least_on(link, messages, machine);
    if (network.first_byte <= 0 || network.control <= 0)
        return ahead;
    give_queues(machine, placement, shared, ahead);
    std::vector<bool> used(machine.link_classes.size()); // inside nodes
    for (const std::uint8_t each : placement.place_link)
        used[each] = true;
    used[placement.self_link] = used[placement.self_link] || messages.to_itself;
    bool interfaces_are_between = ahead.queues == placement.nodes(); // different ones only
    for (std::size_t k = 0; k < used.size(); ++k)
        interfaces_are_between &= !(used[k] && machine.link_classes[k].network);
    const bool core_sends = std::ranges::any_of(
        link.segments, [&](const Segment &s) { return !link.overlap && link.core_per_byte(s) > 0; });
    if (ahead.queues > 1 && interfaces_are_between && !link.interrupts && !core_sends)
        ahead.passing = network.passing;
    ahead.between = std::min(network.first_byte + ahead.passing, network.control);
    if (!interfaces_are_between || !machine.only_interfaces_and_cores() || any_core_is_shared ||
        schedule.cpus > 1 || schedule.nics > 1)
        return ahead;

    Picoseconds inside = std::min({network.first_byte + network.passing, network.control, network.sending});
    for (std::size_t k = 0; k < used.size(); ++k) {
        if (!used[k])
            continue;
        const Least least = least_on(machine.link_classes[k], messages, machine);
        inside = std::min({inside, least.first_byte + least.passing, least.control, least.sending});
    }
    if (inside <= 0)
        return ahead;
    ahead.by_rank = true;
    ahead.inside = inside;
    ahead.passing = network.passing;
    ahead.between = std::min(network.first_byte + network.passing, network.control);
    for (const LinkClass &l : machine.link_classes)
        for (const Segment &s : l.segments)
            ahead.core_and_link |= l.core_per_byte(s) > 0 && !(machine.progress && l.in_call);
    return ahead;
}

} // namespace rankwise::replay
